import { parseArgs } from 'node:util';
import { Front, type FrontQueue } from './front.ts';

/** The flags of every peer program. */
export interface PeerFlags {
  /** The URL of PostgreSQL, or a Redis socket. */
  store: string;
  /** Waiting calls share statements where the peer supports batches. */
  batched: boolean;
}

/** Runs a peer behind the front: `node <peer>.ts --port 0 --key K --store URL [--batched]`. Prints its URL once ready. */
export async function servePeer(open: (flags: PeerFlags) => Promise<FrontQueue>): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      key: { type: 'string', default: 'bench' },
      store: { type: 'string' },
      batched: { type: 'boolean', default: false },
    },
  });
  if (!values.store) throw new Error('--store is required');
  const queue = await open({ store: values.store, batched: values.batched });
  const port = await new Front(queue, values.key).listen(Number(values.port));
  process.stdout.write(`The peer is ready at http://127.0.0.1:${port}\n`);
  process.on('SIGTERM', () => process.exit(0));
}
