import { setFlagsFromString } from 'node:v8';

/** An option of V8 (`node --v8-options`). Where V8 does not know it, it says so on stderr, and requests are as old as before. */
export const CREATE_YOUNG = '--no-allocation-site-pretenuring';

/**
 * Makes V8 create the objects of requests in the young generation, always. By default it learns which code creates objects that
 * outlive collections, and has that code create them in old space from then on. Under load it is the code of requests, and
 * everything that an old request refers to stays in memory until the next full collection
 * (docs/decisions/0066-requests-that-v8-creates-old.md).
 */
export function keepRequestsYoung(): void {
  setFlagsFromString(CREATE_YOUNG);
}
