import { createInterface } from 'node:readline';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { bytesText } from '../../../core/text/bytes-text.ts';
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

/** Pulls an image. `shownAs`: its name in lines, if another. Rejects with a Failure whose text is fit for users. */
export async function pullImage(
  engine: Engine,
  image: string,
  options: { auth?: RegistryAuth; onProgress?: OnProgress; clock?: Clock; shownAs?: string },
): Promise<void> {
  const { auth, onProgress = () => {}, clock = monotonicClock, shownAs = image } = options;
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), STALL_MS);
  const progress = new PullProgress(shownAs, onProgress, clock);
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
  /** How far it was at the line before. */
  #last: { at: number; bytes: number };

  constructor(image: string, report: OnProgress, clock: Clock) {
    this.#image = image;
    this.#report = report;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#reportedAt = this.#startedAt;
    this.#last = { at: this.#startedAt, bytes: 0 };
    report(`Pulling image ${image}`);
  }

  take({ status, id, progressDetail }: PullMessage): void {
    if (id === undefined) return;
    const known = this.#layers.get(id);
    if (status === 'Download complete' && known) this.#layers.set(id, { ...known, current: known.total });
    if (status !== 'Downloading' || progressDetail?.total === undefined) return;
    this.#layers.set(id, { current: progressDetail.current ?? 0, total: progressDetail.total });
    const now = this.#clock.now();
    if (now - this.#reportedAt < PROGRESS_PAUSE_MS) return;
    this.#reportedAt = now;
    this.#report(`Pulling image ${this.#image}: ${this.#describe(now)}`);
  }

  /** `120.0 MB of 800.0 MB known so far, 40.0 MB/s, 17 s left`: the engine reports the size of a layer when its download begins. */
  #describe(now: number): string {
    const sum = (key: 'current' | 'total') =>
      [...this.#layers.values()].reduce((bytes, layer) => bytes + layer[key], 0);
    const [bytes, total] = [sum('current'), sum('total')];
    const bytesPerSecond = ((bytes - this.#last.bytes) * 1000) / Math.max(1, now - this.#last.at);
    this.#last = { at: now, bytes };
    const left = bytesPerSecond > 0 ? `, ${Math.ceil((total - bytes) / bytesPerSecond)} s left` : '';
    const speed = bytesText(Math.max(0, Math.round(bytesPerSecond)));
    return `${bytesText(bytes)} of ${bytesText(total)} known so far, ${speed}/s${left}`;
  }

  finish(): void {
    const seconds = (this.#clock.now() - this.#startedAt) / 1000;
    this.#report(`Pulled image ${this.#image} in ${seconds.toFixed(1)} s`);
  }
}
