/**
 * Requests to the hub itself about models. A token goes to the hub's own origin alone: a redirect elsewhere is not followed here, since only
 * contents are there (models/fetch/http-get.ts follows those).
 */
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { messageOf } from '../../core/errors.ts';
import { refuseUpgrade, request as requestHttp } from '../../core/node-http.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';

const MAX_REDIRECTS = 5;
const MAX_ANSWER_BYTES = 16 * 2 ** 20;
/** Clients give up after 10 s by default. */
const TIMEOUT_MS = 8_000;
const COMMIT = /^[0-9a-f]{40}$/;

/** The hub does not answer, or not as one: what is stored may be served instead. */
export class HubAway extends Error {}

/** The hub refuses, in the words of its own headers. */
export class HubRefused extends Error {
  readonly status: number;
  readonly code: string | null;
  /** The commit that was asked about, where it is known. */
  readonly commit: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    message: string,
    more: { code?: string | null; commit?: string | null; retryAfterSeconds?: number | null; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.status = status;
    this.code = more.code ?? null;
    this.commit = more.commit ?? null;
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

/** A file as the hub knows it at a commit. */
export interface HubFile {
  commit: string;
  /** Null: the hub does not say; then it is not stored. */
  size: number | null;
  /** The ETag of its content, without quotation marks. */
  etag: string;
  /** Null: the hub gives none that can be checked; then it is not stored. */
  digest: PinnedFile['digest'] | null;
  type: string;
}

export interface HubJson {
  body: string;
  commit: string | null;
  /** The path and query of the next page, below the hub's URL. */
  next: string | null;
}

export interface HubQuestion {
  token: string | null;
  signal: AbortSignal;
}

export class HubClient {
  readonly #base: URL;
  readonly #root: string;

  /** `hubUrl`: without a slash at its end. */
  constructor(hubUrl: string) {
    this.#base = new URL(hubUrl);
    this.#root = this.#base.pathname.replace(/\/$/, '');
  }

  /** Where a file's content begins to be read. */
  urlOf(name: string, revision: string, path: string): URL {
    return this.#urlAt(`/${encodePath(name)}/resolve/${encodeURIComponent(revision)}/${encodePath(path)}`);
  }

  async file(
    { name, revision, path }: { name: string; revision: string; path: string },
    question: HubQuestion,
  ): Promise<HubFile> {
    let url = this.urlOf(name, revision, path);
    let commit: string | null = null;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const response = await this.#send(url, { method: 'HEAD', ...question });
      response.resume();
      const { headers, statusCode = 0 } = response;
      commit ??= commitOf(response);
      const link = tagOf(headers['x-linked-etag']);
      const next = isRedirect(statusCode) ? this.#ownUrl(headers.location, url) : null;
      if (next !== null && link === null) {
        url = next;
        continue;
      }
      if (link === null && statusCode !== 200) throw this.#refusal(response, commit);
      const etag = link ?? tagOf(headers.etag);
      if (commit === null || etag === null) throw new HubAway('it names no commit, or no ETag');
      const size = Number(headers['x-linked-size'] ?? (link === null ? headers['content-length'] : undefined) ?? NaN);
      const type = typeOf(link === null ? headers['content-type'] : undefined);
      return {
        commit,
        size: Number.isSafeInteger(size) && size >= 0 ? size : null,
        etag,
        digest: digestOf(etag),
        type,
      };
    }
    throw new HubAway('it redirects too often');
  }

  /** `path`: with its query, below the hub's URL. */
  async json(
    path: string,
    {
      body = null,
      contentType = null,
      ...question
    }: HubQuestion & { body?: Buffer | null; contentType?: string | null },
  ): Promise<HubJson> {
    let url = this.#urlAt(path);
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const method = body === null ? 'GET' : 'POST';
      const response = await this.#send(url, { method, body, contentType, ...question });
      const { headers, statusCode = 0 } = response;
      const next = isRedirect(statusCode) ? this.#ownUrl(headers.location, url) : null;
      if (next !== null) {
        response.resume();
        url = next;
        continue;
      }
      const text = await readText(response, question.signal);
      if (statusCode !== 200) throw this.#refusal(response, commitOf(response), text);
      if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) throw new HubAway('it sent no JSON');
      return { body: withoutXet(text), commit: commitOf(response), next: this.#nextOf(headers.link, url) };
    }
    throw new HubAway('it redirects too often');
  }

  #send(
    url: URL,
    {
      method,
      token,
      signal,
      body = null,
      contentType = null,
    }: HubQuestion & {
      method: string;
      body?: Buffer | null;
      contentType?: string | null;
    },
  ): Promise<IncomingMessage> {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const headers = {
      'user-agent': 'podyard',
      'accept-encoding': 'identity',
      ...(method !== 'HEAD' && { accept: 'application/json' }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== null && { 'content-type': contentType ?? 'application/json', 'content-length': body.length }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        { method, headers, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) },
        resolve,
      );
      refuseUpgrade(sent).on('error', (error) => reject(new HubAway(messageOf(error), { cause: error })));
      sent.end(body ?? undefined);
    });
  }

  #urlAt(path: string): URL {
    return new URL(this.#base.origin + this.#root + path);
  }

  /** Returns where a redirect within the hub leads; null for one elsewhere. */
  #ownUrl(location: string | undefined, from: URL): URL | null {
    if (location === undefined || !URL.canParse(location, from.href)) return null;
    const url = new URL(location, from);
    return url.origin === this.#base.origin && `${url.pathname}/`.startsWith(`${this.#root}/`) ? url : null;
  }

  #nextOf(link: string | string[] | undefined, from: URL): string | null {
    const [, target] = /<([^<>]{1,4000})>;\s?rel="next"/.exec(String(link ?? '')) ?? [];
    const url = this.#ownUrl(target, from);
    return url === null ? null : url.pathname.slice(this.#root.length) + url.search;
  }

  #refusal({ statusCode = 0, headers }: IncomingMessage, commit: string | null, body = ''): Error {
    const { host } = this.#base;
    if (statusCode < 400 || statusCode >= 500 || statusCode === 408)
      return new HubAway(`it answered with status ${statusCode}`);
    const seconds = Number(headers['retry-after'] ?? NaN);
    return new HubRefused(
      statusCode,
      messageIn(headers['x-error-message'], body) ?? `${host} answered with status ${statusCode}`,
      {
        code: codeOf(headers['x-error-code']),
        commit,
        retryAfterSeconds: Number.isSafeInteger(seconds) ? seconds : null,
      },
    );
  }
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

function commitOf({ headers }: IncomingMessage): string | null {
  const commit = String(headers['x-repo-commit'] ?? '');
  return COMMIT.test(commit) ? commit : null;
}

/** Returns an ETag without its quotation marks; null for one that could not be a header again. */
function tagOf(header: string | string[] | undefined): string | null {
  return /^(?:W\/)?"?([\w.:+/=-]{1,200})"?$/.exec(String(header ?? ''))?.[1] ?? null;
}

/** Contents at a CDN are bytes. */
function typeOf(header: string | undefined): string {
  return /^[\x20-\x7e]{1,200}$/.exec(header ?? '')?.[0] ?? 'application/octet-stream';
}

function digestOf(etag: string): HubFile['digest'] {
  if (/^[0-9a-f]{64}$/.test(etag)) return `sha256:${etag}`;
  return COMMIT.test(etag) ? `git:${etag}` : null;
}

function codeOf(header: string | string[] | undefined): string | null {
  return /^\w{1,50}$/.exec(String(header ?? ''))?.[0] ?? null;
}

function messageIn(header: string | string[] | undefined, body: string): string | null {
  if (typeof header === 'string') return header.slice(0, 1_000);
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' ? error.slice(0, 1_000) : null;
  } catch {
    return null;
  }
}

async function readText(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw new HubAway('its answer is too large');
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof HubAway ? error : new HubAway(messageOf(error), { cause: error });
  }
  return Buffer.concat(chunks).toString();
}

/** Clients that read these would fetch contents by another protocol, past the hub. */
function withoutXet(text: string): string {
  try {
    if (!text.includes('"xet')) {
      JSON.parse(text);
      return text;
    }
    return JSON.stringify(
      JSON.parse(text, (key, value) => (key === 'xetHash' || key === 'xetEnabled' ? undefined : value)),
    );
  } catch {
    throw new HubAway('its JSON is broken');
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
