// The model as an ES module, written by anygru. In a page, a worker or a worklet:
//
//     import { load } from "./NAME.js";
//     const model = await load(new URL("NAME.wasm", import.meta.url));
//     const output = model.run(input);     // Float32Array [steps * inputs] -> [steps * outputs]
//
// Each model that `load` or `new Model` gives has a state of its own, which the next call continues.

const BLOCK = 1024; // steps that are in the memory at once, where a model can go step by step

export class Model {
  /** @param {WebAssembly.Module} module  what WebAssembly.compile gives for NAME.wasm */
  constructor(module) {
    this.exports = new WebAssembly.Instance(module, {}).exports;
    this.inputs = this.exports.inputs();
    this.outputs = this.exports.outputs();
    this.sampleRate = this.exports.sample_rate?.(); // in Hz, of the sound that it was trained with; undefined: not known
    this.hasSteps = this.exports.has_steps() !== 0;
    this.capacity = 0;
    this.reset();
  }

  /** All states become zeros, or those at rest. */
  reset() {
    this.exports.reset();
  }

  /** The output [outputs] of one step [inputs]. */
  step(input) {
    if (!this.hasSteps) throw new TypeError("a layer reads sequences from both ends: there are no single steps; use run");
    if (input.length !== this.inputs) {
      throw new RangeError(`step takes ${this.inputs} numbers, got ${input.length}`);
    }
    return this.run(input);
  }

  /** The outputs [steps * outputs] of some steps [steps * inputs]; where resets[t] is not 0, the state is reset before step t. */
  run(input, resets) {
    if (!ArrayBuffer.isView(input)) throw new TypeError("run and step take a Float32Array");
    const steps = input.length / this.inputs;
    if (!Number.isInteger(steps)) {
      throw new RangeError(`run takes a multiple of ${this.inputs} numbers, got ${input.length}`);
    }
    if (resets && resets.length !== steps) {
      throw new RangeError(`resets must have ${steps} values, one for each step, got ${resets.length}`);
    }
    const output = new Float32Array(steps * this.outputs);
    const most = this.hasSteps ? BLOCK : steps;
    for (let start = 0; start < steps; start += most) {
      const count = Math.min(most, steps - start);
      this.#reserve(count);
      const values = new Float32Array(this.exports.memory.buffer, this.places.input, count * this.inputs);
      values.set(input.subarray(start * this.inputs, (start + count) * this.inputs));
      if (resets) {
        new Uint8Array(this.exports.memory.buffer, this.places.resets, count).set(
          Array.from(resets.slice(start, start + count), (reset) => Number(Boolean(reset))),
        );
      }
      const { places } = this;
      this.exports.run(places.input, resets ? places.resets : 0, count, places.output, places.scratch);
      output.set(
        new Float32Array(this.exports.memory.buffer, places.output, count * this.outputs),
        start * this.outputs,
      );
    }
    return output;
  }

  /** Makes room for so many steps behind the model's own memory. */
  #reserve(steps) {
    if (steps <= this.capacity) return;
    const start = Math.ceil(this.exports.__heap_base.value / 64) * 64;
    const input = start;
    const output = input + 4 * steps * this.inputs;
    const scratch = output + 4 * steps * this.outputs;
    const resets = scratch + 4 * steps * this.exports.scratch(1); // exact here, where the module's numbers have 32 bits
    const missing = resets + steps - this.exports.memory.buffer.byteLength;
    if (missing > 0) this.exports.memory.grow(Math.ceil(missing / 65536));
    this.places = { input, output, scratch, resets };
    this.capacity = steps;
  }
}

/** A model from the address of NAME.wasm, from its bytes, or from what WebAssembly.compile gave. */
export async function load(source) {
  if (source instanceof WebAssembly.Module) return new Model(source);
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return new Model(await WebAssembly.compile(source));
  const answer = await fetch(source);
  if (!answer.ok) throw new Error(`${source}: ${answer.status} ${answer.statusText}`);
  return new Model(await WebAssembly.compile(await answer.arrayBuffer()));
}
