import { BoundedMap } from '../../../core/bounded-map.ts';
import type { EndpointId } from '../../../core/ids.ts';
import type { Schedule } from '../../../domain/schedules/schedule.ts';
import { type FloorNow, scheduledFloor } from '../../../domain/schedules/scheduled-floor.ts';

const MAX_ENDPOINTS = 10_000;

interface Known extends FloorNow {
  /** The schedule as text, and from when on the floor was true. */
  key: string;
  from: number;
}

/** Remembers each endpoint's floor until it changes: finding that time takes a millisecond, and endpoints are swept every 5 s. */
export class ScheduleClock {
  readonly #known = new BoundedMap<EndpointId, Known>(MAX_ENDPOINTS);

  /** As `scheduledFloor`. */
  floorOf(endpointId: EndpointId, schedule: Schedule, now: number): FloorNow {
    const key = JSON.stringify(schedule);
    const known = this.#known.get(endpointId);
    const isValid = known?.key === key && known.from <= now && now < (known.until ?? Number.POSITIVE_INFINITY);
    if (isValid) return known;
    const found = { ...scheduledFloor(schedule, now), key, from: now };
    this.#known.set(endpointId, found);
    return found;
  }
}
