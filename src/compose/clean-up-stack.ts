/** Runs clean-up steps, last added first, each even if another fails. `run` runs them once; a second call waits for the first. */
export class CleanUpStack {
  readonly #steps: (() => Promise<unknown> | unknown)[] = [];
  #running: Promise<void> | undefined;

  add(step: () => Promise<unknown> | unknown): void {
    this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  async #runAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some clean-up steps failed');
  }
}
