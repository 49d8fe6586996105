import type { BuildEvent } from '../builder.ts';
import { StepOutput } from '../step-output.ts';

export type StepState = Extract<BuildEvent, { kind: 'step' }>['state'];

/** The step at which a build failed. */
export interface FailedStep {
  name: string;
  lastLines: readonly string[];
}

interface Step {
  name: string;
  state: StepState | null;
  output: StepOutput;
}

/** The steps of a build as an engine reports them: in any order, and repeatedly. Reports each change once. */
export class BuildSteps {
  readonly #onEvent: (event: BuildEvent) => void;
  readonly #shown: (text: string) => string;
  readonly #steps = new Map<string, Step>();
  failed: FailedStep | null = null;

  /** `shown` returns a text of the engine as users may see it. */
  constructor(onEvent: (event: BuildEvent) => void, shown = (text: string) => text) {
    this.#onEvent = onEvent;
    this.#shown = shown;
  }

  /** `step` names it in the build. `isCause`: false for a step that failed because another one did. */
  report(step: string, engineName: string, state: StepState, at: Date, isCause = true): void {
    const name = this.#shown(engineName);
    const known = this.#stepOf(step, name);
    if (known.state === state || (state === 'RUNNING' && known.state !== null)) return;
    if (state !== 'RUNNING') known.output.end(at);
    known.state = state;
    this.#onEvent({ kind: 'step', step, name, state, at });
    if (state === 'FAILED' && isCause) this.failed ??= { name, lastLines: known.output.lastLines };
  }

  /** Adds to what a step prints. Of a step that was never reported it is left out. */
  print(step: string, stream: 'stdout' | 'stderr', bytes: Buffer, at: Date): void {
    this.#steps.get(step)?.output.write(stream, bytes, at);
  }

  /** Ends those that run. */
  end(state: 'COMPLETED' | 'FAILED', at: Date): void {
    for (const [step, { name, state: last }] of this.#steps) if (last === 'RUNNING') this.report(step, name, state, at);
  }

  #stepOf(step: string, name: string): Step {
    const known = this.#steps.get(step);
    if (known) return known;
    const output = new StepOutput((line) => this.#onEvent({ kind: 'line', step, ...line }));
    const added: Step = { name, state: null, output };
    this.#steps.set(step, added);
    return added;
  }
}
