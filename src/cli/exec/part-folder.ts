import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Waits for the end of its input, which comes when this process ends, however it does. */
const REMOVE = `read -r done; while ! rm -rf -- "$1" && [ -e "$1" ]; do sleep 1; done`;

/**
 * A folder for what is not complete yet, next to its final place. It goes with this process: a shell removes it when this
 * process is killed.
 */
export class PartFolder {
  /** The folder does not exist yet: the first writer creates it. */
  readonly path: string;
  readonly #remover: ChildProcess;

  constructor(folder: string) {
    this.path = join(folder, `.podyard-copy-${randomBytes(6).toString('hex')}`);
    // In a session of its own, where Ctrl-C does not reach it.
    this.#remover = spawn('/bin/sh', ['-c', REMOVE, 'podyard', this.path], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#remover.on('error', () => {}); // a machine without a shell
    this.#remover.unref();
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
    this.#remover.stdin?.end();
  }
}
