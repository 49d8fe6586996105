import type { ModelReference } from './model-reference.ts';
import type { PinnedModel } from './pinned-model.ts';

/** A reference's model at its origin: all its files, sorted by path. */
export interface OriginModel extends Omit<PinnedModel, 'id'> {
  /** Its task, in the hub's words (`text-generation`); null: the origin does not say. */
  task: string | null;
}

/** The places that models come from (src/models/origins/). */
export interface ModelOrigins {
  /**
   * Asks the origin what a reference stands for now, for at most 10 s. `token`: the origin's, which no other host gets. Throws
   * `badRequest` for what is not there or not permitted, and `unavailable` for an origin that does not answer as one.
   */
  read(reference: ModelReference, token: string | null): Promise<OriginModel>;
}
