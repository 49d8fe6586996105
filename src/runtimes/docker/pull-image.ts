import { createInterface } from 'node:readline';
import { Failure, messageOf } from '../../core/errors.ts';
import type { OnProgress, RegistryAuth } from '../runtime.ts';
import { type Engine, EngineError } from './engine.ts';

/** A pull that hears nothing for so long is given up. */
const STALL_MS = 5 * 60_000;
/** Progress is told at most so often: a pull makes hundreds of messages a second, and each line is stored. */
const PROGRESS_PAUSE_MS = 2000;

interface PullMessage {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

/** `name[:tag|@digest]` in full: the engine pulls every tag of a name without one. */
export function withTag(image: string): string {
  const last = image.slice(image.lastIndexOf('/') + 1);
  return /[:@]/.test(last) ? image : `${image}:latest`;
}

/** One name for the many that the engine takes for the same image of Docker Hub. */
export function familiarName(image: string): string {
  return withTag(image.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, ''));
}

/** The registry of an image by the engine's own rule: a first part with a dot, a colon, or `localhost`. */
export function registryOf(image: string): string {
  const [first, ...rest] = image.split('/');
  return rest.length > 0 && (/[.:]/.test(first!) || first === 'localhost') ? first! : 'docker.io';
}

/** Pulls an image. Rejects with a Failure whose text is a sentence for users. */
export async function pullImage(
  engine: Engine,
  image: string,
  options: { auth?: RegistryAuth; onProgress?: OnProgress },
): Promise<void> {
  const { auth, onProgress } = options;
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), STALL_MS);
  const progress = new PullProgress(image, onProgress ?? (() => {}));
  try {
    const stream = await engine.stream({
      method: 'POST',
      path: '/images/create',
      query: { fromImage: withTag(image) },
      ...(auth && { auth: { ...auth, serverAddress: registryOf(image) } }),
      timeoutMs: STALL_MS,
      signal: stall.signal,
    });
    for await (const line of createInterface({ input: stream })) {
      timer.refresh();
      const message = JSON.parse(line) as PullMessage;
      if (message.error !== undefined) throw new EngineError(500, message.error); // it said 200 before it knew
      progress.take(message);
    }
    if (stall.signal.aborted) throw new Error(`nothing came for ${STALL_MS / 60_000} minutes`);
    progress.finish();
  } catch (error) {
    throw pullFailure(image, error, auth !== undefined);
  } finally {
    clearTimeout(timer);
  }
}

/** Turns the engine's messages about layers into a line now and then. */
class PullProgress {
  readonly #image: string;
  readonly #tell: OnProgress;
  readonly #layers = new Map<string, { current: number; total: number }>();
  readonly #beganAt = Date.now();
  #toldAt = Date.now();

  constructor(image: string, tell: OnProgress) {
    this.#image = image;
    this.#tell = tell;
    tell(`Pulling image ${image}`);
  }

  take({ status, id, progressDetail }: PullMessage): void {
    if (status !== 'Downloading' || id === undefined || progressDetail?.total === undefined) return;
    this.#layers.set(id, { current: progressDetail.current ?? 0, total: progressDetail.total });
    if (Date.now() - this.#toldAt < PROGRESS_PAUSE_MS) return;
    this.#toldAt = Date.now();
    const sum = (key: 'current' | 'total') =>
      [...this.#layers.values()].reduce((bytes, layer) => bytes + layer[key], 0);
    this.#tell(
      `Pulling image ${this.#image}: ${megabytes(sum('current'))} of ${megabytes(sum('total'))} MB so far known`,
    );
  }

  finish(): void {
    this.#tell(`Pulled image ${this.#image} in ${((Date.now() - this.#beganAt) / 1000).toFixed(1)} s`);
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}

/** The engine's own words tell the cases apart; its status does not: it is 500 for most of them. */
export function pullFailure(image: string, error: unknown, hasAuth: boolean): Failure {
  const words = messageOf(error);
  const say = (kind: 'unprocessable' | 'unavailable', text: string) => new Failure(kind, text, { cause: error });
  if (/invalid reference format/i.test(words)) return say('unprocessable', `'${image}' is not a valid image name.`);
  if (/manifest unknown|manifest for .* not found|name unknown/i.test(words)) {
    return say('unprocessable', `Image '${image}' does not exist in the registry ${registryOf(image)}.`);
  }
  if (
    /unauthorized|authentication required|access denied|denied:|access to the resource is denied|no basic auth|incorrect username/i.test(
      words,
    )
  ) {
    return hasAuth
      ? say('unprocessable', `The registry ${registryOf(image)} refused the credentials for image '${image}'.`)
      : say('unprocessable', `Image '${image}' was not found, or it is private and needs registry credentials.`);
  }
  if (/no matching manifest|does not match the specified platform/i.test(words)) {
    return say('unprocessable', `Image '${image}' does not exist for this machine's processor.`);
  }
  if (/no space left/i.test(words))
    return say('unavailable', `Image '${image}' does not fit on the disk of this machine.`);
  if (/toomanyrequests|rate limit/i.test(words)) {
    return say(
      'unavailable',
      `The registry ${registryOf(image)} refuses more pulls for now (rate limit), image '${image}'.`,
    );
  }
  if (
    /no such host|dial tcp|i\/o timeout|connection re|TLS|x509|EOF|unreachable|deadline exceeded|Client\.Timeout|nothing came/i.test(
      words,
    )
  ) {
    return say('unavailable', `The registry ${registryOf(image)} could not be reached for image '${image}': ${words}`);
  }
  return say('unavailable', `Image '${image}' could not be pulled: ${words}`);
}
