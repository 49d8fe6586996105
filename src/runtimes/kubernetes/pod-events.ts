import type { Logger } from '../../core/logger.ts';
import type { OnProgress } from '../runtime.ts';
import type { ApiServer } from './api-server.ts';
import type { ApiObject, ClusterEvent } from './objects.ts';
import { type Kept, Reflector } from './reflector.ts';

interface EventRecord extends Kept {
  podUid: string;
  reason: string;
  message: string;
}

/** What happens to a pod, for whoever waits for its start. */
export interface PodStory {
  /** What came last, and when. */
  readonly last: { reason: string; message: string; at: number };
  end(): void;
}

const IDLE_MS = 60_000;
/** The end of the start tells of these. */
const TOLD_OTHERWISE = new Set(['Failed', 'BackOff', 'InspectFailed', 'Killing', 'Preempted']);

/** The cluster's events of pods, watched only while there are starts; they are lines of progress and nothing else. */
export class PodEvents {
  readonly #open: () => Reflector<EventRecord>;
  readonly #listeners = new Map<string, (event: EventRecord) => void>();
  #feed: Reflector<EventRecord> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: { api: ApiServer; path: string; logger: Logger }) {
    const { api, path, logger } = options;
    const query = { fieldSelector: 'involvedObject.kind=Pod' };
    this.#open = () => new Reflector({ name: 'events', api, path, query, logger, keep: toEventRecord, isFeed: true });
  }

  /** A start is about to be made. */
  begin(): void {
    clearTimeout(this.#idle);
    if (this.#feed) return;
    this.#feed = this.#open();
    this.#feed.subscribe((_, event) => this.#listeners.get(event.podUid)?.(event));
    this.#feed.start();
  }

  follow(podUid: string, onProgress: OnProgress | undefined): PodStory {
    this.begin();
    const told = new Set<string>();
    const story = {
      last: { reason: '', message: '', at: performance.now() },
      end: () => {
        this.#listeners.delete(podUid);
        if (this.#listeners.size === 0) this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
      },
    };
    this.#listeners.set(podUid, ({ reason, message }) => {
      story.last = { reason, message, at: performance.now() };
      const line = progressLine(reason, message);
      if (line === null || told.has(line)) return;
      told.add(line);
      onProgress?.(line);
    });
    return story;
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
  return { key: name, uid, resourceVersion, podUid: involvedObject.uid ?? '', reason, message: message.trim() };
}

/** Null for what is told otherwise. */
export function progressLine(reason: string, message: string): string | null {
  if (TOLD_OTHERWISE.has(reason)) return null;
  if (reason === 'Scheduled') return `Assigned to node ${/ to (\S+)$/.exec(message)?.[1] ?? 'of the cluster'}`;
  if (reason === 'Created') return 'Container created';
  if (reason === 'Started') return 'Container started';
  if (reason === 'FailedScheduling') return `No node has room: ${message}`;
  return message.replace(/^(Pulling image|Container image|Successfully pulled image) "([^"]+)"/, '$1 $2');
}
