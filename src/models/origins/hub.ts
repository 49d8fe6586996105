/**
 * Asks a hub which commit a revision is, and which files it has, by the public API of huggingface.co. A token goes to the hub's own origin
 * alone: no redirect is followed, and pages of a list elsewhere are refused.
 */
import { Failure, messageOf } from '../../core/errors.ts';
import type { OriginModel } from '../../domain/models/model-origins.ts';
import type { ModelReference } from '../../domain/models/model-reference.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';

type HubReference = Extract<ModelReference, { source: 'HUB' }>;

/** For all requests about one model. */
const TIMEOUT_MS = 10_000;
const MAX_FILES = 20_000;
const MAX_ANSWER_BYTES = 32 * 2 ** 20;
const COMMIT = /^[0-9a-f]{40}$/;

/** Members of the hub's answers that are read. */
interface ModelInfo {
  id?: unknown;
  sha?: unknown;
  gated?: unknown;
  pipeline_tag?: unknown;
}
interface TreeEntry {
  type?: unknown;
  path?: unknown;
  size?: unknown;
  oid?: unknown;
  lfs?: { oid?: unknown; size?: unknown };
}

/** Returns the model's files at the commit that its revision is now. Throws as `ModelOrigins.read`. */
export async function readHubModel(
  hubUrl: string,
  reference: HubReference,
  token: string | null,
  timeoutMs = TIMEOUT_MS,
): Promise<OriginModel> {
  const hub = new HubCall(hubUrl, reference, token, timeoutMs);
  const { name, revision } = reference;
  const info: ModelInfo = (await hub.get(`/api/models/${name}/revision/${encodeURIComponent(revision)}`)).body;
  if (info.id !== name) throw hub.renamed(String(info.id));
  if (typeof info.sha !== 'string' || !COMMIT.test(info.sha)) throw hub.strange('it names no commit');
  if (info.gated) await hub.checkAccess(`/api/models/${name}/auth-check`);
  const files: PinnedFile[] = [];
  let next: string | null = `/api/models/${name}/tree/${info.sha}?recursive=true`;
  while (next !== null) {
    const page = await hub.get(next);
    if (!Array.isArray(page.body)) throw hub.strange('it sent no list of files');
    for (const entry of page.body as TreeEntry[]) if (entry.type !== 'directory') files.push(hub.toFile(entry));
    if (files.length > MAX_FILES) throw new Failure('badRequest', `${name} has more than ${MAX_FILES} files`);
    next = page.next;
  }
  const task = typeof info.pipeline_tag === 'string' ? info.pipeline_tag : null;
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { source: 'HUB', name, commit: info.sha, files, task };
}

/** The requests about one model. */
class HubCall {
  readonly #hubUrl: string;
  readonly #host: string;
  readonly #name: string;
  readonly #revision: string;
  readonly #token: string | null;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;

  constructor(hubUrl: string, { name, revision }: HubReference, token: string | null, timeoutMs: number) {
    this.#hubUrl = hubUrl;
    this.#host = new URL(hubUrl).host;
    this.#name = name;
    this.#revision = revision;
    this.#token = token;
    this.#timeoutMs = timeoutMs;
    this.#signal = AbortSignal.timeout(timeoutMs);
  }

  /** Returns the JSON of an answer, and the path of its next page. */
  async get(path: string): Promise<{ body: never; next: string | null }> {
    const response = await this.#send(path);
    if (response.status >= 300 && response.status < 400) throw this.#redirected(response);
    if (!response.ok) throw await this.#refused(response);
    const type = response.headers.get('content-type') ?? 'nothing';
    if (!/^application\/json\b/i.test(type)) throw this.strange(`it sent ${type.slice(0, 50)} instead of JSON`);
    const text = await this.#read(response);
    try {
      return { body: JSON.parse(text) as never, next: this.#nextOf(response) };
    } catch (cause) {
      throw cause instanceof Failure ? cause : this.strange('its JSON is broken');
    }
  }

  /** Throws `badRequest` if the hub refuses the files to this token, or to anonymous readers without one. */
  async checkAccess(path: string): Promise<void> {
    const response = await this.#send(path);
    if (response.status === 401 || response.status === 403) throw await this.#refused(response);
    await response.body?.cancel();
  }

  toFile({ path, size, oid, lfs }: TreeEntry): PinnedFile {
    const isInside = typeof path === 'string' && path.split('/').every((name) => !['', '.', '..'].includes(name));
    if (!isInside || /[\p{Cc}\\]/u.test(path)) throw this.strange('it names a file outside the model');
    const bytes = lfs?.size ?? size;
    if (!Number.isSafeInteger(bytes) || (bytes as number) < 0) throw this.strange(`it gives no size of ${path}`);
    const hash = String(lfs?.oid ?? oid).replace(/^sha256:/, '');
    if (!(lfs ? /^[0-9a-f]{64}$/ : COMMIT).test(hash)) throw this.strange(`it gives no digest of ${path}`);
    return { path, size: bytes as number, digest: lfs ? `sha256:${hash}` : `git:${hash}` };
  }

  renamed(now: string): Failure {
    return new Failure('badRequest', `${this.#name} is called ${printable(now)} now: write hf:${printable(now)}`);
  }

  /** The answer is none of a hub. */
  strange(what: string): Failure {
    return new Failure('unavailable', `${this.#host} does not answer as a hub: ${what}`);
  }

  async #send(path: string): Promise<Response> {
    const headers = {
      accept: 'application/json',
      'user-agent': 'Podyard',
      ...(this.#token && { authorization: `Bearer ${this.#token}` }),
    };
    try {
      return await fetch(this.#hubUrl + path, { headers, redirect: 'manual', signal: this.#signal });
    } catch (cause) {
      throw this.#away(cause);
    }
  }

  async #read(response: Response): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of response.body ?? []) {
        bytes += chunk.byteLength;
        if (bytes > MAX_ANSWER_BYTES) throw this.strange('its answer is too large');
        chunks.push(chunk);
      }
    } catch (cause) {
      throw cause instanceof Failure ? cause : this.#away(cause);
    }
    return Buffer.concat(chunks).toString();
  }

  #away(cause: unknown): Failure {
    const why = this.#signal.aborted
      ? `does not answer within ${this.#timeoutMs / 1_000} seconds`
      : 'cannot be reached';
    const detail = `the hub at ${this.#host} ${why}: try again later`;
    return new Failure('unavailable', detail, { cause: new Error(messageOf(cause)) });
  }

  /** `Link: <url>; rel="next"`, which must be of the hub: it gets the token. */
  #nextOf(response: Response): string | null {
    const [, link] = /<([^<>]{1,4000})>;\s?rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    if (link === undefined) return null;
    if (!URL.canParse(link, this.#hubUrl)) throw this.strange('its next page is no URL');
    const base = new URL(this.#hubUrl);
    const url = new URL(link, base);
    const path = url.pathname + url.search;
    const root = base.pathname.replace(/\/$/, '');
    if (url.origin !== base.origin || !path.startsWith(`${root}/api/models/`)) {
      throw this.strange('its next page is elsewhere');
    }
    return path.slice(root.length);
  }

  #redirected(response: Response): Failure {
    void response.body?.cancel();
    const location = response.headers.get('location') ?? '';
    const target = URL.canParse(location, this.#hubUrl) ? new URL(location, this.#hubUrl) : null;
    const [, now] = /\/api\/models\/([\w.-]+\/[\w.-]+)(?:\/|$)/.exec(target?.pathname ?? '') ?? [];
    const isOwn = target?.origin === new URL(this.#hubUrl).origin;
    return isOwn && now !== undefined && now !== this.#name
      ? this.renamed(now)
      : this.strange('it redirects elsewhere');
  }

  async #refused(response: Response): Promise<Failure> {
    void response.body?.cancel();
    const { status, headers } = response;
    const code = headers.get('x-error-code');
    const page = `${this.#hubUrl}/${this.#name}`;
    const refuse = (text: string) => new Failure('badRequest', text);
    if (code === 'GatedRepo' || (status === 403 && code === null)) {
      return this.#token === null
        ? refuse(
            `${this.#name} is gated: accept its terms at ${page}, store a token of your account there as a secret, and name that in tokenSecret`,
          )
        : refuse(
            `${this.#name} is gated, and the account of the token in tokenSecret may not read it: accept its terms at ${page}`,
          );
    }
    if (code === 'RevisionNotFound') return refuse(`${this.#name} has no revision '${this.#revision}'`);
    if (status === 401 && this.#token !== null) {
      return refuse(`${this.#host} refuses the token in tokenSecret: put a valid one into the secret`);
    }
    if (status === 401 || status === 403 || status === 404) {
      const advice = this.#token === null ? ': a private one needs a token, in a secret that tokenSecret names' : '';
      return refuse(`${this.#host} has no model ${this.#name} that may be read${advice}`);
    }
    if (status === 429) {
      const seconds = Number(headers.get('retry-after')) || 60;
      return new Failure('unavailable', `the hub at ${this.#host} answers no more requests now: try again later`, {
        retryAfterSeconds: Math.min(Math.max(Math.ceil(seconds), 1), 3_600),
      });
    }
    return new Failure('unavailable', `the hub at ${this.#host} answers with status ${status}: try again later`);
  }
}

function printable(text: string): string {
  return text.slice(0, 200).replace(/[^\w./-]/g, '?');
}
