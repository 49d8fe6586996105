import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../../core/errors.ts';

const RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/;

/** Returns where in a file the body of a request begins, and the size of the file. The body is its rest. Throws `badRequest`. */
export function rangeOf(headers: IncomingHttpHeaders): { start: number; size: number } {
  const length = Number(headers['content-length']);
  if (!Number.isSafeInteger(length)) throw new Failure('badRequest', 'The request needs a Content-Length.');
  const range = headers['content-range'];
  if (range === undefined) return { start: 0, size: length };
  const [start, end, size] = RANGE.exec(range)?.slice(1).map(Number) ?? [];
  if (start === undefined || end !== size! - 1 || size! - start !== length) {
    throw new Failure(
      'badRequest',
      `Content-Range must be 'bytes <start>-<end>/<size>' of the rest of the file, whose length is the Content-Length of ${length}; it is '${range}'.`,
    );
  }
  return { start, size: size! };
}
