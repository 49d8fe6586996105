import type { TSchema } from 'typebox';
import type { Examples } from './example-values.ts';
import type { RestRoute } from './rest-app.ts';

/** What one revision says about one resource. A resource that all revisions spell alike has none. */
export interface Wire {
  /** Its named schemas, in the order of the description. */
  readonly schemas: readonly TSchema[];
  /** One example for each of them. */
  readonly examples: Examples;
  /** By schema: explanations that are added to the errors of a refused body, such as another revision's spelling. */
  readonly hints?: Readonly<Record<string, (body: unknown) => string[]>>;
  /** Operations that only this revision has. */
  readonly ownRoutes?: readonly RestRoute[];
}
