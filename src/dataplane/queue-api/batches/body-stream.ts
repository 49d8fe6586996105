import { Readable } from 'node:stream';
import type { CallRequest } from '../../../http/call-messages.ts';
import { closedEarly } from '../../read-body.ts';

/** The body as a stream, which the connection is read for. What is left when it is destroyed is dropped once it arrives. */
export function bodyStream(req: CallRequest): Readable {
  const stream = new Readable({
    read: () => void req.resume(),
    destroy(error, done) {
      req.pause();
      done(error);
    },
  });
  req.on('data', (chunk) => {
    if (!stream.destroyed && !stream.push(Buffer.from(chunk))) req.pause();
  });
  req.on('end', () => void stream.push(null));
  req.on('close', () => {
    if (!req.readableEnded) stream.destroy(closedEarly());
  });
  return stream;
}
