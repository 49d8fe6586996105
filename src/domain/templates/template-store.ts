import { Failure, notFound } from '../../core/errors.ts';
import type { TemplateId, UserId } from '../../core/ids.ts';
import {
  assignments,
  type ColumnMap,
  column,
  fixedColumn,
  insertedRow,
  insertValues,
  jsonColumn,
  selectList,
  updatedRow,
} from '../../db/columns.ts';
import { type Db, foundRow, isUniqueViolation, type RowLock } from '../../db/pool.ts';
import { CONTAINER_COLUMNS } from '../containers/container-columns.ts';
import { builtInTemplates, findBuiltInTemplate } from './built-in-templates.ts';
import { TEMPLATE_SOURCES, type Template, type TemplateMark, type TemplateSource } from './template.ts';

export const TEMPLATE_COLUMNS = {
  id: fixedColumn('id'),
  userId: fixedColumn('user_id'),
  name: column('name'),
  ...CONTAINER_COLUMNS,
  persistentMount: {
    read: `case when persistent_path is not null then
      json_build_object('sizeGb', persistent_size_gb, 'path', persistent_path) end`,
    write: (mount) => ({ persistent_size_gb: mount?.sizeGb ?? null, persistent_path: mount?.path ?? null }),
  },
  isServerless: column('is_serverless'),
  isPublic: column('is_public'),
  mark: column('mark'),
  category: column('category'),
  startSsh: column('start_ssh'),
  startJupyter: column('start_jupyter'),
  allowedCudaVersions: column('allowed_cuda_versions'),
  clientSettings: jsonColumn('client_settings'),
  endpointId: fixedColumn('endpoint_id'),
  createdAt: { read: 'created_at' },
} satisfies ColumnMap<Template>;
const SELECTED = selectList(TEMPLATE_COLUMNS);

/** Returns the user's templates, oldest first. */
export async function listTemplateRows(db: Db, userId: UserId): Promise<Template[]> {
  const result = await db.query<Template>(
    `select ${SELECTED} from templates where user_id = $1 order by created_at, id`,
    [userId],
  );
  return result.rows;
}

/** Throws `notFound` if the user has no such template, even if another user's is public. */
export async function getTemplateRow(db: Db, userId: UserId, id: TemplateId, lock: RowLock = ''): Promise<Template> {
  return foundRow(
    await db.query<Template>(`select ${SELECTED} from templates where id = $1 and user_id = $2 ${lock}`, [id, userId]),
    'Template',
  );
}

/** Returns the user's own template, a public or a built-in one, whose registry only its owner sees. Throws `notFound`. */
export async function getReadableTemplate(db: Db, userId: UserId, id: TemplateId): Promise<Template> {
  const result = await db.query<Template>(
    `select ${SELECTED} from templates where id = $1 and (user_id = $2 or (is_public and endpoint_id is null))`,
    [id, userId],
  );
  const template = result.rows[0] ?? findBuiltInTemplate(id);
  if (!template) throw notFound('Template');
  return seenBy(userId, template);
}

const PLACE = `case mark when 'OFFICIAL' then 0 when 'VERIFIED' then 1 else 2 end`;

/**
 * Returns public templates of all users, as `userId` sees them: built-in ones first, then official ones, then verified ones;
 * of each, those used last first. Served by `templates_catalog`, a part per source, so that a million templates of one
 * source cost no more.
 */
export async function listPublicTemplates(
  db: Db,
  userId: UserId,
  { sources, limit }: { sources: readonly TemplateSource[]; limit: number },
): Promise<Template[]> {
  const places = TEMPLATE_SOURCES.flatMap((source, place) => (sources.includes(source) ? [place] : []));
  const result = await db.query<Template>(
    `select t.* from unnest($1::int[]) place, lateral (
       select ${SELECTED}, last_used_at from templates where is_public and endpoint_id is null and (${PLACE}) = place
       order by last_used_at desc nulls last, id limit $2
     ) t order by place, t.last_used_at desc nulls last, t.id limit $2`,
    [places, limit],
  );
  const ofUsers = result.rows.map((template) => seenBy(userId, template));
  return sources.includes('official') ? [...builtInTemplates(), ...ofUsers].slice(0, limit) : ofUsers;
}

/** Sets what the operator says of a template, of any user. Throws `notFound`, and `badRequest` unless it is public. */
export async function updateTemplateMark(db: Db, id: TemplateId, mark: TemplateMark | null): Promise<Template> {
  const result = await db.query<Template>(
    `update templates set mark = $2::text where id = $1 and (is_public or $2::text is null) returning ${SELECTED}`,
    [id, mark],
  );
  if (result.rows[0]) return result.rows[0];
  const found = await db.query('select from templates where id = $1', [id]);
  if (found.rowCount === 0) throw notFound('Template');
  throw new Failure('badRequest', 'The template is not public: its owner must publish it first.');
}

function seenBy(userId: UserId, template: Template): Template {
  return template.userId === userId ? template : { ...template, registryId: null };
}

/**
 * Finds a template the user may make something from: their own, a public or a built-in one. Locks it against deletion until
 * the commit.
 */
export async function findUsableTemplate(db: Db, userId: UserId, id: TemplateId): Promise<Template | undefined> {
  const result = await db.query<Template>(
    `select ${SELECTED} from templates where id = $1 and (user_id = $2 or is_public) for key share`,
    [id, userId],
  );
  return result.rows[0] ?? findBuiltInTemplate(id);
}

/** Names are unique per user. Served by `templates_by_name`. */
export async function findTemplateIdByName(db: Db, userId: UserId, name: string): Promise<TemplateId | undefined> {
  const result = await db.query<{ id: TemplateId }>(
    'select id from templates where user_id = $1 and md5(name) = md5($2) and name = $2',
    [userId, name],
  );
  return result.rows[0]?.id;
}

/** Returns the template with `createdAt`, which the database sets. Throws `badRequest` if the user's name is taken. */
export async function insertTemplateRow(db: Db, template: Omit<Template, 'createdAt'>): Promise<Template> {
  const row = insertedRow(TEMPLATE_COLUMNS, template);
  const result = await db
    .query<Template>(`insert into templates ${insertValues(row)} returning ${SELECTED}`, Object.values(row))
    .catch((error) => refuseTakenName(error, template.name));
  return result.rows[0]!;
}

/** Throws `badRequest` if another template of the user has that name. */
export async function updateTemplateRow(db: Db, template: Template): Promise<void> {
  const row = updatedRow(TEMPLATE_COLUMNS, template);
  await db
    .query(`update templates set ${assignments(row, 3)} where id = $1 and user_id = $2`, [
      template.id,
      template.userId,
      ...Object.values(row),
    ])
    .catch((error) => refuseTakenName(error, template.name));
}

export async function deleteTemplateRow(db: Db, userId: UserId, id: TemplateId): Promise<void> {
  await db.query('delete from templates where id = $1 and user_id = $2', [id, userId]);
}

/** Notes a use, for the order of public templates. Takes no user: others use a public template too. */
export async function updateTemplateUse(db: Db, id: string): Promise<void> {
  await db.query('update templates set last_used_at = now() where id = $1', [id]);
}

/** Returns what keeps a template from being deleted: what kind of thing any user made from it (`an endpoint`), or null. */
export async function getTemplateUse(db: Db, id: TemplateId): Promise<string | null> {
  const result = await db.query<{ usedBy: string | null }>(
    `select case when exists (select from endpoints e where e.template_id = t.id) then 'an endpoint'
                 when exists (select from pods p where p.template_id = t.id and p.wanted <> 'TERMINATE') then 'a pod'
            end as "usedBy"
     from templates t where t.id = $1`,
    [id],
  );
  return result.rows[0]!.usedBy;
}

function refuseTakenName(error: unknown, name: string): never {
  if (!isUniqueViolation(error)) throw error;
  throw new Failure('badRequest', `name: there is already a template named '${name}'`, { isClash: true, cause: error });
}
