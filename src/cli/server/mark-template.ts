import type { TemplateId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import type { Context } from '../../domain/context.ts';
import { markTemplate } from '../../domain/templates/change-template.ts';
import type { TemplateMark } from '../../domain/templates/template.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { findIdInDatabase } from './find-in-database.ts';

/** Sets what the operator says of a public template of any user; `none` takes it back. */
export async function printMarkedTemplate(
  context: Context,
  idOrName: string,
  mark: string,
  output: CliOutput,
): Promise<void> {
  const value = mark === 'none' ? null : (mark.toUpperCase() as TemplateMark);
  const id = await findIdInDatabase(context.pool, 'templates', idOrName);
  const { name, image } = await change(context, null, markTemplate, { id: id as TemplateId, mark: value });
  output.print(`${id}  ${name}  ${image}  ${value === null ? 'community' : mark}`);
}
