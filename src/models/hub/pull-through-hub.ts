/**
 * Answers for the hub (docs/decisions/0121-pull-through-hub.md). The hub authorizes each request with the reader's own token; contents are
 * cached by digest for all readers. While the hub is unreachable, its last answer to the same reader, or to an anonymous one, is repeated.
 */
import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { httpGet, type Reach } from '../fetch/http-get.ts';
import type { OriginAccess } from '../fetch/origin-access.ts';
import { HubAnswers, type KeptAnswer } from './hub-answers.ts';
import { HubAway, HubClient, type HubFile, type HubJson, HubRefused } from './hub-client.ts';
import type { HubContent } from './hub-content.ts';
import { HubContents, type HubContentsOptions } from './hub-contents.ts';

export interface PullThroughOptions extends HubContentsOptions {
  /** Without a trailing slash. */
  hubUrl: string;
  /** Where contents may be, besides the hub's own host. */
  reach: Reach;
  clock: Clock;
}

/** The reader behind a request. `name` identifies them and their token. */
export interface HubReader {
  name: string;
  userId: UserId;
  token: string | null;
}

export interface HubPath {
  name: string;
  revision: string;
  path: string;
}

/** `awaySinceMs`: when the hub answered so; null: now. */
export interface Known<T> {
  value: T;
  awaySinceMs: number | null;
}

/** The name shared by all readers without a token. */
const EVERYBODY = 'everybody';
const COMMIT = /^[0-9a-f]{40}$/;
/** Many workers ask the same at once. As long also may an answer outlive a right that was taken away. */
const FRESH_MS = 15_000;
const MAX_FRESH = 10_000;
/** While it is away, it is asked again only so often where there is an answer already. */
const AWAY_MS = 15_000;
const MAX_KEPT_BYTES = 4 * 2 ** 20;
const MISSING = 'EntryNotFound';

type FileAnswer = HubFile | { missing: string };

export class PullThroughHub {
  readonly #options: PullThroughOptions;
  readonly #client: HubClient;
  readonly #contents: HubContents;
  readonly #answers: HubAnswers;
  readonly #clock: Clock;
  readonly #fresh = new BoundedMap<string, { untilMs: number; answer: Promise<Known<unknown>> }>(MAX_FRESH);
  readonly #closing = new AbortController();
  #awayUntilMs = 0;

  constructor(options: PullThroughOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#client = new HubClient(options.hubUrl);
    this.#contents = new HubContents(options);
    this.#answers = new HubAnswers(options.root, (bytes) => void this.#contents.noteStored(bytes).catch(() => {}));
  }

  /** Returns what the hub says of a file. Throws `HubRefused`. */
  async file(reader: HubReader, at: HubPath): Promise<Known<HubFile>> {
    const known = await this.#shared([reader.name, 'file', at.name, at.revision, at.path], FRESH_MS, () =>
      this.#askFile(reader, at),
    );
    if (!('missing' in known.value)) return { ...known, value: known.value };
    const text = `Entry not found: ${at.name} has no file '${at.path}'`;
    throw new HubRefused(404, text, { code: MISSING, commit: known.value.missing });
  }

  /** Returns what the hub answers to a question about models. `path`: below the hub's URL, with the query. Throws `HubRefused`. */
  async json(
    reader: HubReader,
    path: string,
    {
      body = null,
      contentType = null,
      isKept = true,
    }: { body?: Buffer | null; contentType?: string | null; isKept?: boolean } = {},
  ): Promise<Known<HubJson>> {
    const ask = () => this.#client.json(path, { token: reader.token, signal: this.#closing.signal, body, contentType });
    if (!isKept) return { value: await this.#asked(ask), awaySinceMs: null };
    const keyOf = (name: string) => [name, 'json', path, body?.toString('base64') ?? ''];
    return this.#shared(keyOf(reader.name), 0, async () => {
      const kept = await this.#keptFor(reader, (name) => this.#answers.find<HubJson>(keyOf(name)));
      if (kept && this.#isAway) return kept;
      return this.#orKept(kept, async () => {
        const value = await this.#asked(ask);
        if (value.body.length <= MAX_KEPT_BYTES) await this.#keep(keyOf(reader.name), value);
        return value;
      });
    });
  }

  /**
   * Returns a file's content, which is to be read from the byte `from` on; null where it is not kept: then `pass` gives it. Throws `HubRefused` for
   * one that is not here while the hub is away.
   */
  async content(
    reader: HubReader,
    at: HubPath,
    { known: { value, awaySinceMs }, from }: { known: Known<HubFile>; from: number },
  ): Promise<HubContent | null> {
    const { digest, size, commit } = value;
    if (digest === null || size === null) return null;
    const file: PinnedFile = { path: at.path, size, digest };
    if (awaySinceMs !== null && !(await this.#contents.has(file))) throw this.#notHere();
    const url = this.#client.urlOf(at.name, commit, at.path);
    const origin = { url, model: at.name, access: accessOf(reader), reach: this.#reach };
    return this.#contents.open(file, origin, { from, userId: reader.userId });
  }

  /** Gets a file's content, or a part of it, from the hub without keeping it. */
  async pass(
    reader: HubReader,
    at: HubPath,
    commit: string,
    { range, signal }: { range: string | null; signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const url = this.#client.urlOf(at.name, commit, at.path);
    const headers = range === null ? {} : { range };
    try {
      return (await httpGet(url, { headers, access: accessOf(reader), reach: this.#reach, signal })).response;
    } catch (error) {
      throw error instanceof Failure || signal.aborted ? error : this.#notHere(error);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#contents.close();
  }

  get #isAway(): boolean {
    return this.#clock.now() < this.#awayUntilMs;
  }

  /** The hub's own host may be a private one: the operator named it. */
  get #reach(): Reach {
    const { hubUrl, reach } = this.#options;
    const own = new URL(hubUrl).hostname;
    return { resolve: (url) => (url.hostname === own ? resolveHost(own) : reach.resolve(url)) };
  }

  async #askFile(reader: HubReader, at: HubPath): Promise<Known<FileAnswer>> {
    const kept = await this.#keptFor(reader, (name) => this.#findFile(name, at));
    if (kept && this.#isAway) return kept;
    return this.#orKept(kept, async () => {
      const value = await this.#asked(() =>
        this.#client.file(at, { token: reader.token, signal: this.#closing.signal }),
      ).catch((error) => {
        if (error instanceof HubRefused && error.code === MISSING && error.commit !== null)
          return { missing: error.commit };
        throw error;
      });
      const commit = 'missing' in value ? value.missing : value.commit;
      await this.#keep([reader.name, 'file', at.name, commit, at.path], value);
      if (!COMMIT.test(at.revision)) await this.#keep([reader.name, 'commit', at.name, at.revision], commit);
      return value;
    });
  }

  /** A branch stands for the commit that it was last: files of two commits do not fit together. */
  async #findFile(name: string, at: HubPath): Promise<KeptAnswer<FileAnswer> | null> {
    const isCommit = COMMIT.test(at.revision);
    const commit = isCommit ? null : await this.#answers.find<string>([name, 'commit', at.name, at.revision]);
    if (!isCommit && commit === null) return null;
    const file = await this.#answers.find<FileAnswer>([name, 'file', at.name, commit?.value ?? at.revision, at.path]);
    return file && { value: file.value, atMs: commit?.atMs ?? file.atMs };
  }

  /** Returns answers that everybody may have to readers with a token, too. */
  async #keptFor<T>(
    reader: HubReader,
    find: (name: string) => Promise<KeptAnswer<T> | null>,
  ): Promise<Known<T> | null> {
    const kept = (await find(reader.name)) ?? (reader.name === EVERYBODY ? null : await find(EVERYBODY));
    return kept && { value: kept.value, awaySinceMs: kept.atMs };
  }

  async #orKept<T>(kept: Known<T> | null, ask: () => Promise<T>): Promise<Known<T>> {
    try {
      return { value: await ask(), awaySinceMs: null };
    } catch (error) {
      const isBusy = error instanceof HubRefused && error.status === 429;
      const isGone = error instanceof HubRefused && error.status === 503;
      if (kept && (isBusy || isGone)) return kept;
      throw error;
    }
  }

  /** Throws `HubRefused` with status 503 for a hub that is away. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      this.#awayUntilMs = 0;
      return answer;
    } catch (error) {
      if (!(error instanceof HubAway)) throw error;
      this.#awayUntilMs = this.#clock.now() + AWAY_MS;
      throw this.#notHere(error);
    }
  }

  #notHere(cause?: unknown): HubRefused {
    const text = `${new URL(this.#options.hubUrl).host} does not answer, and this is not stored here: try again later`;
    return new HubRefused(503, text, { retryAfterSeconds: 10, cause });
  }

  /** A disk that is full costs only what is kept for later. */
  async #keep(key: readonly string[], value: unknown): Promise<void> {
    await this.#answers.keep(key, { value, atMs: this.#clock.now() }).catch(() => {});
  }

  /** Asks once for all that ask the same meanwhile, or within `forMs` after that. */
  #shared<T>(key: readonly string[], forMs: number, ask: () => Promise<Known<T>>): Promise<Known<T>> {
    const name = JSON.stringify(key);
    const known = this.#fresh.get(name);
    if (known && known.untilMs > this.#clock.now()) return known.answer as Promise<Known<T>>;
    const entry = { untilMs: Number.POSITIVE_INFINITY, answer: ask() };
    this.#fresh.set(name, entry);
    const forget = () => {
      if (this.#fresh.get(name) === entry) this.#fresh.delete(name);
    };
    entry.answer.then(({ awaySinceMs }) => {
      if (forMs === 0 || awaySinceMs !== null) forget();
      else entry.untilMs = this.#clock.now() + forMs;
    }, forget);
    return entry.answer;
  }
}

async function resolveHost(host: string): Promise<{ address: string; family: 4 | 6 }> {
  const { address, family } = await lookup(host.replace(/^\[|\]$/g, ''));
  return { address, family: family === 6 ? 6 : 4 };
}

function accessOf({ token }: HubReader): OriginAccess {
  return token === null ? null : { kind: 'bearer', token };
}
