import { Failure } from '../../core/errors.ts';
import { readSmallBody } from '../read-body.ts';
import { ageHeaders, type HubCall } from './hub-call.ts';
import type { HubRoute } from './hub-route.ts';

/** A list of paths. */
const MAX_BODY_BYTES = 2 ** 20;

/** Answers a question about a model. */
export async function sendJson(call: HubCall, route: Extract<HubRoute, { kind: 'json' }>): Promise<void> {
  const { req, res, hub, reader, base, clock } = call;
  const body = route.method === 'POST' ? await readSmallBody({ req, limitBytes: MAX_BODY_BYTES, tooLarge }) : null;
  const contentType = /^[\w/+.; =-]{1,100}$/.exec(req.headers['content-type'] ?? '')?.[0] ?? null;
  const known = await hub.json(reader, route.path, { body, contentType, isKept: !route.isPersonal });
  if (res.destroyed) return;
  const { value } = known;
  const length = Buffer.byteLength(value.body);
  res.writeHead(200, [
    ...['content-type', 'application/json; charset=utf-8', 'content-length', String(length)],
    ...(value.commit === null ? [] : ['x-repo-commit', value.commit]),
    ...(value.next === null ? [] : ['link', `<${base}${value.next}>; rel="next"`]),
    ...ageHeaders(known, clock),
  ]);
  call.metrics.hub.servedBytes.add(length);
  res.end(value.body);
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('contentTooLarge', `a list of paths has at most ${limitBytes} bytes`);
}
