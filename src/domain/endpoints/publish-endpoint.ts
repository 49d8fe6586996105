import type { EndpointId } from '../../core/ids.ts';
import type { Context } from '../context.ts';

/** Tells whoever keeps endpoints in memory, and the scaler. Call it after the commit, or the listener reads the old row. */
export function publishEndpoint(context: Context, endpointId: EndpointId): void {
  context.bus.publish('endpoint', endpointId);
  context.bus.publish('demand', endpointId);
}
