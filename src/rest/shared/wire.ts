import type { TSchema } from 'typebox';
import type { Examples } from './example-values.ts';

/** What one revision says about one resource. A resource that all revisions spell alike has none. */
export interface Wire {
  /** Its named schemas, in the order of the description. */
  readonly schemas: readonly TSchema[];
  /** One example for each of them. */
  readonly examples: Examples;
}
