/** A recurrent network with its state. */
export class Model {
  constructor(module: WebAssembly.Module);
  /** Features of a step. */
  readonly inputs: number;
  /** Features of an output. */
  readonly outputs: number;
  /** Whether single steps can be run: no layer reads a sequence from its end. */
  readonly hasSteps: boolean;
  /** In Hz, of the sound that the model was trained with; undefined: not known. */
  readonly sampleRate?: number;
  /** All states become zeros, or those at rest. */
  reset(): void;
  /** The output [outputs] of one step [inputs]. */
  step(input: Float32Array): Float32Array;
  /** The outputs [steps * outputs] of some steps [steps * inputs]; where resets[t] is not 0, the state is reset before step t. */
  run(input: Float32Array, resets?: ArrayLike<number | boolean> & { slice(start: number, end: number): Iterable<unknown> }): Float32Array;
}

/** A model from the address of the .wasm file, from its bytes, or from a compiled module. */
export function load(source: string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module): Promise<Model>;
