import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UserId } from '../../core/ids.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';

/** A model that is whole in the store. */
export interface ModelRecord {
  model: PinnedModel;
  /** The origin gave it without a token: every user may have it. */
  isOpen: boolean;
  /** Users to whom the origin gave it. */
  readers: UserId[];
  /** It does not leave to make room. */
  isKept: boolean;
  fetchedAt: string;
  usedAt: string;
}

/** A use is written at most this often: only the order in which models leave depends on it. */
const TOUCH_MS = 60_000;

/** The store's own records, a file each: `records/<id>.json`. */
export class ModelRecords {
  readonly #root: string;
  readonly #records = new Map<string, ModelRecord>();
  /** `usedAt` of each as its file has it, ms since 1970. */
  readonly #writtenAt = new Map<string, number>();

  constructor(root: string) {
    this.#root = join(root, 'records');
  }

  /** Reads them; one that a crash or a hand has broken counts as absent, and its files are fetched again. */
  async open(): Promise<void> {
    this.#records.clear();
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#root)) {
      const record = await readRecord(join(this.#root, name));
      if (record && name === `${record.model.id}.json`) this.#keep(record);
      else await rm(join(this.#root, name), { force: true });
    }
  }

  get(id: string): ModelRecord | undefined {
    return this.#records.get(id);
  }

  /** Those used longest ago come first. */
  list(): ModelRecord[] {
    return [...this.#records.values()].sort((one, other) => one.usedAt.localeCompare(other.usedAt));
  }

  async put(record: ModelRecord): Promise<void> {
    const path = join(this.#root, `${record.model.id}.json`);
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${path}.new`, path);
    this.#keep(record);
  }

  /** Records that models are used. One call at a time: a record is written beside its file first. */
  async touch(models: readonly { model: Pick<PinnedModel, 'id'> }[], now: number): Promise<void> {
    for (const { model } of models) {
      const record = this.#records.get(model.id);
      if (!record) continue;
      const used = { ...record, usedAt: new Date(now).toISOString() };
      this.#records.set(model.id, used);
      if (now - this.#writtenAt.get(model.id)! >= TOUCH_MS) await this.put(used);
    }
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.#root, `${id}.json`), { force: true });
    this.#records.delete(id);
    this.#writtenAt.delete(id);
  }

  #keep(record: ModelRecord): void {
    this.#records.set(record.model.id, record);
    this.#writtenAt.set(record.model.id, Date.parse(record.usedAt));
  }
}

async function readRecord(path: string): Promise<ModelRecord | null> {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as ModelRecord;
    const isWhole = Array.isArray(record.readers) && Array.isArray(record.model.files);
    return isWhole ? { ...record, isKept: record.isKept === true } : null;
  } catch {
    return null;
  }
}
