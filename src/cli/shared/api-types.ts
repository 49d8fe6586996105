import type { components, paths } from '../../../api/openapi.d.ts';
import type { components as NewerComponents } from '../../../api/openapi-2026-08.d.ts';

/** The records and bodies of the revision that the command line speaks (docs/decisions/0092-revision-of-the-command-line.md). */
export type Schemas = components['schemas'];
/** Those of the later one, which alone can write endpoints on CPUs. */
export type NewerSchemas = NewerComponents['schemas'];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of the description that have this method. */
export type PathWith<M extends Method> = { [P in keyof paths]: M extends keyof paths[P] ? P : never }[keyof paths];

type Operation<M extends Method, P extends keyof paths> = M extends keyof paths[P] ? paths[P][M] : never;

type PathNames<O> = O extends { parameters: { path: infer Names } } ? { path: Names } : unknown;
type Query<O> = O extends { parameters: { query?: infer Names } }
  ? unknown extends Names
    ? unknown
    : { query?: Names }
  : unknown;
type Body<O> = O extends { requestBody: { content: { 'application/json': infer Value } } } ? { body: Value } : unknown;

/** The parts of a request: what its path names, its query and its body. */
export type Request<M extends Method, P extends keyof paths> = PathNames<Operation<M, P>> &
  Query<Operation<M, P>> &
  Body<Operation<M, P>>;

/** The body of a successful response; undefined where it has none. */
export type Result<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { responses: infer Responses }
    ? {
        [S in keyof Responses]: Responses[S] extends { content: { 'application/json': infer Value } }
          ? Value
          : undefined;
      }[keyof Responses]
    : never;
