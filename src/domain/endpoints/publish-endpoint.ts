import type { EndpointId } from '../../core/ids.ts';
import type { Context } from '../context.ts';

/** Notifies caches of endpoints, and the scaler. Call it after the commit, or listeners read the old row. */
export function publishEndpoint(context: Context, endpointId: EndpointId): void {
  context.bus.publish('endpoint', endpointId);
  context.bus.publish('demand', endpointId);
}
