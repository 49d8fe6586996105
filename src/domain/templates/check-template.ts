import { Failure } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { checkContainer } from '../containers/check-container.ts';
import { checkHttpPortCount, checkRepeatedPort } from '../containers/check-ports.ts';
import { checkReferences } from '../containers/check-references.ts';
import { checkCudaVersions } from '../endpoints/gpu-rule.ts';
import type { Template } from './template.ts';

/**
 * Checks the `changed` fields by the rules that a schema cannot express; throws `badRequest` with the field, and
 * `forbidden` for a reference that `before` does not have and the key may not add.
 */
export async function checkTemplate(
  db: Db,
  actor: Actor,
  before: Template | null,
  template: Omit<Template, 'createdAt'>,
  changed: Partial<Template>,
): Promise<void> {
  checkContainer(changed);
  checkCudaVersions(changed);
  if (changed.ports) {
    checkRepeatedPort(changed.ports);
    checkHttpPortCount(changed.ports);
  }
  const isMountAbout = changed.isServerless !== undefined || changed.persistentMount !== undefined;
  if (isMountAbout && template.isServerless && template.persistentMount !== null) {
    throw new Failure(
      'badRequest',
      'mounts.persistent: a serverless template cannot have persistent storage (serverless is true)',
    );
  }
  await checkReferences(db, actor, before, changed);
}
