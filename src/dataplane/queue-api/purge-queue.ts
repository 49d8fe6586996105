import { sendJson } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

/** Cancels the jobs that are queued now; running jobs continue. */
export async function purgeQueue(call: QueueCall): Promise<void> {
  const { dispatch, endpoints } = call.plane;
  let removed = 0;
  for await (const slice of dispatch.queue.purge(call.endpoint.id)) {
    dispatch.notifyEnded(slice);
    removed += slice.length;
  }
  endpoints.addQueued(call.endpoint, -removed);
  sendJson(call.res, 200, `{"removed":${removed},"status":"completed"}`);
}
