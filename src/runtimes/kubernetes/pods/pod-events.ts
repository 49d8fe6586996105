import type { Logger } from '../../../core/logger.ts';
import type { OnProgress } from '../../runtime.ts';
import type { ApiServer } from '../api/api-server.ts';
import type { ApiObject, CachedObject, ClusterEvent } from '../api/objects.ts';
import { Reflector } from '../api/reflector.ts';

interface EventRecord extends CachedObject {
  podName: string;
  podUid: string;
  reason: string;
  message: string;
  isOfWorkload: boolean;
}

/** The events of a pod that is being started. */
export interface PodProgress {
  /** The latest event, and when it came. */
  readonly last: { reason: string; message: string; at: number };
  /** Reports the pod's events from now on, after those that came before its create was answered. */
  report(podUid: string, onProgress: OnProgress | undefined): void;
  end(): void;
}

const IDLE_MS = 60_000;
/** Reported by the start itself when it fails. */
const NOT_PROGRESS = new Set(['Failed', 'BackOff', 'InspectFailed', 'Killing', 'Preempted']);

/** The cluster's events of pods, watched only while pods start, and reported as progress lines. */
export class PodEvents {
  readonly #open: () => Reflector<EventRecord>;
  readonly #listeners = new Map<string, (event: EventRecord) => void>();
  #feed: Reflector<EventRecord> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: { api: ApiServer; path: string; logger: Logger }) {
    const { api, path, logger } = options;
    const query = { fieldSelector: 'involvedObject.kind=Pod' };
    this.#open = () =>
      new Reflector({ name: 'events', api, path, query, logger, transform: toEventRecord, isFeed: true });
  }

  /** Call before a start: opens the watch. */
  begin(): void {
    clearTimeout(this.#idle);
    if (this.#feed) return;
    this.#feed = this.#open();
    this.#feed.subscribe((_, event) => this.#listeners.get(event.podName)?.(event));
    this.#feed.start();
  }

  /** Call before the create: a scheduler is often faster than the answer, and its event comes only once. */
  follow(podName: string): PodProgress {
    this.begin();
    const early: EventRecord[] = [];
    const reported = new Set<string>();
    let onEvent = (event: EventRecord): unknown => early.push(event);
    const progress: PodProgress & { last: PodProgress['last'] } = {
      last: { reason: '', message: '', at: performance.now() },
      report: (podUid, onProgress) => {
        onEvent = (event) => {
          if (event.podUid !== podUid) return; // of an earlier pod of that name
          const { reason, message } = event;
          progress.last = { reason, message, at: performance.now() };
          const line = event.isOfWorkload ? progressLine(reason, message) : null;
          if (line === null || reported.has(line)) return;
          reported.add(line);
          onProgress?.(line);
        };
        early.forEach(onEvent);
      },
      end: () => {
        this.#listeners.delete(podName);
        if (this.#listeners.size === 0) this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
      },
    };
    this.#listeners.set(podName, (event) => onEvent(event));
    return progress;
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#feed?.stop();
    this.#feed = undefined;
  }
}

function toEventRecord(object: ApiObject): EventRecord {
  const { metadata, involvedObject, reason = '', message = '' } = object as ClusterEvent;
  const { name, uid, resourceVersion } = metadata;
  const { name: podName = '', uid: podUid = '', fieldPath = '' } = involvedObject;
  const isOfWorkload = !fieldPath.startsWith('spec.initContainers');
  return { key: name, uid, resourceVersion, podName, podUid, reason, message: message.trim(), isOfWorkload };
}

/** Returns null for events that are not progress. */
export function progressLine(reason: string, message: string): string | null {
  if (NOT_PROGRESS.has(reason)) return null;
  if (reason === 'Scheduled') return `Assigned to node ${/ to (\S+)$/.exec(message)?.[1] ?? 'of the cluster'}`;
  if (reason === 'Created') return 'Container created';
  if (reason === 'Started') return 'Container started';
  if (reason === 'FailedScheduling') return `No node fits: ${message}`;
  return message.replace(/^(Pulling image|Container image|Successfully pulled image) "([^"]+)"/, '$1 $2');
}
