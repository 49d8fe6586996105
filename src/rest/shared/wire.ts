import type { NamedSchemas } from './example-values.ts';
import type { RestRoute } from './rest-app.ts';

/** How other clients and the other revision write bodies that this one refuses. */
export interface Hint {
  /** Explanations that are added to the errors. */
  explain(body: unknown): string[];
  /** Returns the body in the interface's words. If the schema accepts those, they are what the client has said. */
  read?(body: unknown): unknown;
}

/** One revision's schemas and translations of one resource. A resource that all revisions spell alike has none. */
export interface Wire {
  /** Its named schemas, in the order of the description. */
  readonly schemas: NamedSchemas;
  /** By schema: what is known of bodies that it refuses. */
  readonly hints?: Readonly<Record<string, Hint>>;
  /** Operations that only this revision has. */
  readonly ownRoutes?: readonly RestRoute[];
}
