// The model between the inputs and the outputs of an AudioWorklet: the audio is its first feature, its first output is heard.
import { Model } from "./NAME.js";

class ModelProcessor extends AudioWorkletProcessor {
  constructor(options) {
    super();
    this.model = new Model(options.processorOptions.module);
    this.reported = 0;
  }

  process(inputs, outputs) {
    const heard = inputs[0][0];
    const played = outputs[0][0];
    if (!heard || !played) return true;
    const { model } = this;
    const input = new Float32Array(played.length * model.inputs);
    for (let t = 0; t < heard.length; t += 1) input[t * model.inputs] = heard[t];
    const output = model.run(input);
    for (let t = 0; t < played.length; t += 1) played[t] = output[t * model.outputs];
    this.reported += 1;
    if (this.reported % 16 === 0) this.port.postMessage({ input: heard.slice(), output: played.slice() });
    return true;
  }
}

registerProcessor("NAME", ModelProcessor);
