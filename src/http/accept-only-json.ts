import type { FastifyInstance } from 'fastify';
import { Failure } from '../core/errors.ts';

/** The largest request body of the REST and GraphQL APIs. */
export const BODY_LIMIT_BYTES = 100 * 1024;

export interface JsonBodyOptions {
  /** True: an empty body counts as no body. False: it is malformed. */
  isEmptyAllowed: boolean;
  /** The public text for a malformed body. A `__proto__` member makes one malformed. */
  detail: string;
  /** Throws a `Failure` for a body that is valid JSON but must be refused. */
  check?: (value: unknown, text: string) => void;
}

/** Makes JSON the only content type that the app accepts: any other body is a 415. */
// biome-ignore lint/suspicious/noExplicitAny: any app, whatever its type provider
export function acceptOnlyJson(app: FastifyInstance<any, any, any, any, any>, options: JsonBodyOptions): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
    if (body === '' && options.isEmptyAllowed) return done(null, undefined);
    parse(request, body, (error, value) => {
      if (error) return done(new Failure('badRequest', options.detail, { cause: error }));
      try {
        options.check?.(value, body);
      } catch (refusal) {
        return done(refusal as Failure);
      }
      done(null, value);
    });
  });
}
