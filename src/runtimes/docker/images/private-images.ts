import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names and ids of images pulled with credentials. Each is an empty file, so that processes share them. */
export class PrivateImages {
  readonly #directory: string | undefined;
  readonly #added = new Set<string>();

  constructor(stateDir: string | undefined) {
    this.#directory = stateDir && join(stateDir, 'private-images');
  }

  has(name: string): boolean {
    return this.#added.has(name) || (this.#directory !== undefined && existsSync(this.#fileOf(name)));
  }

  add(name: string): void {
    this.#added.add(name);
    if (!this.#directory) return;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    writeFileSync(this.#fileOf(name), '');
  }

  #fileOf(name: string): string {
    return join(this.#directory!, createHash('sha256').update(name).digest('hex'));
  }
}
