import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Failure } from '../../core/errors.ts';
import { asciiJson } from '../../core/text/ascii-json.ts';
import { logFailure, PROBLEM_JSON, renderProblem } from '../../http/problem.ts';
import type { RestDeps } from '../shared/rest-app.ts';
import { routeOf } from './request-hooks.ts';

/** Sends a failure as a problem record. The one place where REST does. */
export function sendProblem(deps: RestDeps, failure: Failure, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, problem } = renderProblem(failure);
  if (status >= 500) logFailure(deps.logger, failure, { requestId: request.id, route: routeOf(request) });
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]);
  reply
    .code(status)
    .header('content-type', PROBLEM_JSON)
    .send(Buffer.from(asciiJson(problem))); // a string would get a charset added
}
