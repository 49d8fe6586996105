import { createInterface } from 'node:readline';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { pullFailure, registryOf } from '../../../domain/images/pull-failure.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import type { OnProgress, RegistryAuth } from '../../runtime.ts';

/** A pull without any message for this long has stalled. */
const STALL_MS = 5 * 60_000;
/** At most one progress line per this time: a pull sends hundreds of messages a second, and each line is stored. */
const PROGRESS_PAUSE_MS = 2000;

interface PullMessage {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

/** Returns `name[:tag|@digest]` in full: without either, the engine would pull every tag. */
export function withTag(image: string): string {
  const last = image.slice(image.lastIndexOf('/') + 1);
  return /[:@]/.test(last) ? image : `${image}:latest`;
}

/** Returns one name for the several that the engine accepts for a Docker Hub image. */
export function familiarName(image: string): string {
  return withTag(image.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, ''));
}

/** Pulls an image. Rejects with a Failure whose text is fit for users. */
export async function pullImage(
  engine: Engine,
  image: string,
  options: { auth?: RegistryAuth; onProgress?: OnProgress; clock?: Clock },
): Promise<void> {
  const { auth, onProgress = () => {}, clock = monotonicClock } = options;
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), STALL_MS);
  const progress = new PullProgress(image, onProgress, clock);
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
      if (message.error !== undefined) throw new EngineError(500, message.error); // the engine answers 200 before it knows
      progress.take(message);
    }
    if (stall.signal.aborted) throw new Error(`nothing came for ${STALL_MS / 60_000} minutes`);
    progress.finish();
  } catch (error) {
    throw pullFailure(image, error, auth);
  } finally {
    clearTimeout(timer);
  }
}

/** Condenses the engine's messages about layers into a line every few seconds. */
class PullProgress {
  readonly #image: string;
  readonly #report: OnProgress;
  readonly #clock: Clock;
  readonly #layers = new Map<string, { current: number; total: number }>();
  readonly #startedAt: number;
  #reportedAt: number;

  constructor(image: string, report: OnProgress, clock: Clock) {
    this.#image = image;
    this.#report = report;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#reportedAt = this.#startedAt;
    report(`Pulling image ${image}`);
  }

  take({ status, id, progressDetail }: PullMessage): void {
    if (status !== 'Downloading' || id === undefined || progressDetail?.total === undefined) return;
    this.#layers.set(id, { current: progressDetail.current ?? 0, total: progressDetail.total });
    const now = this.#clock.now();
    if (now - this.#reportedAt < PROGRESS_PAUSE_MS) return;
    this.#reportedAt = now;
    const sum = (key: 'current' | 'total') =>
      [...this.#layers.values()].reduce((bytes, layer) => bytes + layer[key], 0);
    this.#report(
      `Pulling image ${this.#image}: ${megabytes(sum('current'))} of ${megabytes(sum('total'))} MB known so far`,
    );
  }

  finish(): void {
    const seconds = (this.#clock.now() - this.#startedAt) / 1000;
    this.#report(`Pulled image ${this.#image} in ${seconds.toFixed(1)} s`);
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
