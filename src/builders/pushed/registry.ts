/** The part of the OCI distribution specification that a builder needs: list tags, read what they name, delete. */
import { createHash } from 'node:crypto';
import { Failure, messageOf } from '../../core/errors.ts';
import type { BuildRegistry } from '../../domain/images/build-registry.ts';
import { basicOf, bearerOf, tokenServerOf } from '../../domain/images/registry-question.ts';

export interface StoredManifest {
  digest: string;
  /** Compressed, as the registry has it; 0 of an index. */
  sizeBytes: number;
}

interface Manifest {
  config?: { size?: number };
  layers?: { size?: number }[];
}

interface Request {
  method: 'GET' | 'DELETE' | 'POST' | 'PUT';
  path: string;
  accept?: string;
  body?: string;
  /** The media type of the body. */
  type?: string;
}

const TIMEOUT_MS = 30_000;
const EMPTY = '{}';
const OCI_MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const MANIFESTS = [
  OCI_MANIFEST,
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');
/** Registries of this machine have no TLS, as for container engines. */
const LOCAL = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;
/** Requests about one repository. Rejects with a Failure `unavailable` that names the registry, never with credentials. */
export class Registry {
  readonly #place: BuildRegistry;
  readonly #base: string;
  #authorization: string | undefined;

  constructor(place: BuildRegistry) {
    this.#place = place;
    const host = place.host === 'docker.io' ? 'registry-1.docker.io' : place.host;
    this.#base = `${LOCAL.test(place.host) ? 'http' : 'https'}://${host}`;
  }

  /** Returns all tags; none where nothing was pushed yet. */
  async tags(): Promise<string[]> {
    const tags: string[] = [];
    let path: string | undefined = this.#path('tags/list?n=1000');
    while (path !== undefined) {
      const response = await this.#send({ method: 'GET', path });
      if (response.status === 404) return tags;
      const page = (await this.#accept(response).json()) as { tags?: string[] | null };
      tags.push(...(page.tags ?? []));
      path = this.#nextPage(response.headers.get('link'));
    }
    return tags;
  }

  /** Returns what a tag names now; null: nothing. */
  async manifest(tag: string): Promise<StoredManifest | null> {
    const response = await this.#send({ method: 'GET', path: this.#path(`manifests/${tag}`), accept: MANIFESTS });
    if (response.status === 404) return null;
    const digest = this.#accept(response).headers.get('docker-content-digest');
    if (digest === null) throw this.#failure(`does not say the digest of ${tag}`);
    const { config, layers = [] } = (await response.json()) as Manifest;
    return { digest, sizeBytes: [config, ...layers].reduce((sum, part) => sum + (part?.size ?? 0), 0) };
  }

  /** Deletes one tag, and what it names unless another tag does. Returns false where the registry does not delete. */
  async removeTag(tag: string): Promise<boolean> {
    if (await this.remove(tag)) return true;
    // Many delete digests alone, with all their tags. So the tag names something of its own first.
    return this.remove(await this.#blank(tag));
  }

  /** Deletes a digest with all its tags. Returns false where the registry does not delete. */
  async remove(reference: string): Promise<boolean> {
    const response = await this.#send({ method: 'DELETE', path: this.#path(`manifests/${reference}`) });
    if (response.status === 404) return true;
    if (response.status === 400 || response.status === 405) return false;
    this.#accept(response);
    return true;
  }

  /** Returns why nothing can be kept there, one sentence; null when it can. */
  async hindrance(): Promise<string | null> {
    try {
      await this.tags();
      return null;
    } catch (error) {
      return `${messageOf(error)}.`;
    }
  }

  /** `link`: `</v2/…>; rel="next"`, or null after the last page. */
  #nextPage(link: string | null): string | undefined {
    if (!link?.startsWith('<') || !link.includes('next')) return undefined;
    const { pathname, search } = new URL(link.slice(1, link.indexOf('>')), this.#base);
    return pathname + search;
  }

  /** Has a tag name an artifact without content, that no other tag names. Returns its digest. */
  async #blank(tag: string): Promise<string> {
    const config = { mediaType: 'application/vnd.oci.empty.v1+json', digest: digestOf(EMPTY), size: EMPTY.length };
    const begun = await this.#send({ method: 'POST', path: this.#path('blobs/uploads/') });
    const upload = new URL(this.#accept(begun).headers.get('location') ?? '', this.#base);
    upload.searchParams.set('digest', config.digest);
    const path = upload.pathname + upload.search;
    this.#accept(await this.#send({ method: 'PUT', path, body: EMPTY, type: 'application/octet-stream' }));
    const annotations = { 'dev.podyard.removed': tag };
    const body = JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers: [], annotations });
    this.#accept(await this.#send({ method: 'PUT', path: this.#path(`manifests/${tag}`), body, type: OCI_MANIFEST }));
    return digestOf(body);
  }

  #path(rest: string): string {
    return `/v2/${this.#place.repository}/${rest}`;
  }

  /** Asks again with what the registry wants to be shown, once. */
  async #send({ method, path, accept, body, type }: Request): Promise<Response> {
    for (let isSecond = false; ; isSecond = true) {
      const headers = {
        ...(accept && { accept }),
        ...(type && { 'content-type': type }),
        ...(this.#authorization && { authorization: this.#authorization }),
      };
      const response = await this.#fetch(this.#base + path, { method, headers, ...(body !== undefined && { body }) });
      if (response.status !== 401 || isSecond) return response;
      await response.body?.cancel();
      this.#authorization = await this.#answer(response.headers.get('www-authenticate') ?? '');
    }
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (error) {
      const { cause } = error as Error;
      throw this.#failure(`cannot be reached: ${messageOf(cause ?? error)}`, error);
    }
  }

  /** The password goes to the registry, or with TLS to the server that it names. */
  async #answer(question: string): Promise<string> {
    const { auth, host, repository } = this.#place;
    const basic = auth && basicOf(auth);
    const scope = `repository:${repository}:pull,push,delete`;
    const server = tokenServerOf(question, { hasTls: !LOCAL.test(host), scope });
    if (server === null) {
      if (basic === null) throw this.#failure('asks for credentials: set PODYARD_BUILD_REGISTRY_AUTH');
      return basic;
    }
    if ('fault' in server) throw this.#failure(server.fault);
    const response = await this.#fetch(server.href, { headers: basic === null ? {} : { authorization: basic } });
    const bearer = bearerOf(await this.#accept(response).text());
    if (bearer === null) throw this.#failure(`names ${server.host} for tokens, which gives none`);
    return bearer;
  }

  #accept(response: Response): Response {
    if (response.ok) return response;
    const { status } = response;
    const isRefusal = status === 401 || status === 403;
    throw this.#failure(isRefusal ? `refuses the credentials (status ${status})` : `answered with status ${status}`);
  }

  #failure(text: string, cause?: unknown): Failure {
    const { host, repository } = this.#place;
    return new Failure('unavailable', `The registry of builds, ${host}/${repository}, ${text}`, { cause });
  }
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
