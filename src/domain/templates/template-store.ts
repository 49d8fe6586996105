import { Failure, notFound } from '../../core/errors.ts';
import type { EndpointId, TemplateId, UserId } from '../../core/ids.ts';
import { type Db, sqlState } from '../../db/pool.ts';
import { type ContainerRow, containerColumns, toContainer } from '../endpoints/container-columns.ts';
import type { Template, TemplateCategory, TemplateClientSettings } from './template.ts';

interface TemplateRow extends ContainerRow {
  id: TemplateId;
  user_id: UserId;
  name: string;
  persistent_size_gb: number | null;
  persistent_path: string | null;
  is_serverless: boolean;
  is_public: boolean;
  category: TemplateCategory;
  client_settings: TemplateClientSettings;
  endpoint_id: EndpointId | null;
  created_at: Date;
}

const UNIQUE_VIOLATION = '23505';
/** contract.md, "Limits": how long after its last use a template cannot be deleted. */
const REST_MINUTES = 2;

function toTemplate(row: TemplateRow): Template {
  const mount = { sizeGb: row.persistent_size_gb!, path: row.persistent_path! };
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    ...toContainer(row),
    persistentMount: row.persistent_path === null ? null : mount,
    isServerless: row.is_serverless,
    isPublic: row.is_public,
    category: row.category,
    clientSettings: row.client_settings,
    endpointId: row.endpoint_id,
    createdAt: row.created_at,
  };
}

function toColumns(template: Omit<Template, 'createdAt'>): Record<string, unknown> {
  return {
    name: template.name,
    ...containerColumns(template),
    persistent_size_gb: template.persistentMount?.sizeGb ?? null,
    persistent_path: template.persistentMount?.path ?? null,
    is_serverless: template.isServerless,
    is_public: template.isPublic,
    category: template.category,
    client_settings: JSON.stringify(template.clientSettings),
  };
}

/** The user's own, oldest first. */
export async function listTemplateRows(db: Db, userId: UserId): Promise<Template[]> {
  const result = await db.query<TemplateRow>('select * from templates where user_id = $1 order by created_at, id', [
    userId,
  ]);
  return result.rows.map(toTemplate);
}

/** Throws `notFound` when it is missing or somebody else's, public or not. */
export async function getTemplateRow(
  db: Db,
  userId: UserId,
  id: TemplateId,
  lock: '' | 'for update' = '',
): Promise<Template> {
  const result = await db.query<TemplateRow>(`select * from templates where id = $1 and user_id = $2 ${lock}`, [
    id,
    userId,
  ]);
  if (!result.rows[0]) throw notFound('Template');
  return toTemplate(result.rows[0]);
}

/** A template that something may be made from: one's own or a public one. It cannot be deleted before the transaction ends. */
export async function findUsableTemplate(db: Db, userId: UserId, id: TemplateId): Promise<Template | undefined> {
  const result = await db.query<TemplateRow>(
    'select * from templates where id = $1 and (user_id = $2 or is_public) for key share',
    [id, userId],
  );
  return result.rows[0] && toTemplate(result.rows[0]);
}

/** By its name, which is unique among the user's own. Served by `templates_by_name`. */
export async function findTemplateIdByName(db: Db, userId: UserId, name: string): Promise<TemplateId | undefined> {
  const result = await db.query<{ id: TemplateId }>(
    'select id from templates where user_id = $1 and md5(name) = md5($2) and name = $2',
    [userId, name],
  );
  return result.rows[0]?.id;
}

/** `createdAt` is the database's. Throws `badRequest` when the user has a template of that name. */
export async function insertTemplateRow(db: Db, template: Omit<Template, 'createdAt'>): Promise<Template> {
  const values = {
    id: template.id,
    user_id: template.userId,
    endpoint_id: template.endpointId,
    ...toColumns(template),
  };
  const names = Object.keys(values);
  const places = names.map((_, i) => `$${i + 1}`).join(', ');
  const result = await db
    .query<TemplateRow>(
      `insert into templates (${names.join(', ')}) values (${places}) returning *`,
      Object.values(values),
    )
    .catch((error) => refuseTakenName(error, template.name));
  return toTemplate(result.rows[0]!);
}

/** Throws `badRequest` when another template of the user has that name. */
export async function updateTemplateRow(db: Db, template: Template): Promise<void> {
  const values = toColumns(template);
  const assignments = Object.keys(values).map((name, i) => `${name} = $${i + 3}`);
  await db
    .query(`update templates set ${assignments.join(', ')} where id = $1 and user_id = $2`, [
      template.id,
      template.userId,
      ...Object.values(values),
    ])
    .catch((error) => refuseTakenName(error, template.name));
}

export async function deleteTemplateRow(db: Db, userId: UserId, id: TemplateId): Promise<void> {
  await db.query('delete from templates where id = $1 and user_id = $2', [id, userId]);
}

/** Something made from it goes in this transaction. Names no user: a public template is used by strangers too. */
export async function noteTemplateUse(db: Db, id: string): Promise<void> {
  await db.query('update templates set last_used_at = now() where id = $1', [id]);
}

/**
 * What kind of thing made from it exists (`an endpoint`), whoever made it, and until when it must rest after the last one
 * went; each null when there is none.
 */
export async function readTemplateUse(
  db: Db,
  id: TemplateId,
): Promise<{ usedBy: string | null; restsUntil: Date | null }> {
  const result = await db.query<{ usedBy: string | null; restsUntil: Date | null }>(
    `select case when exists (select from endpoints e where e.template_id = t.id) then 'an endpoint'
                 when exists (select from pods p where p.template_id = t.id and p.wanted <> 'TERMINATE') then 'a pod'
            end as "usedBy",
            case when t.last_used_at + interval '${REST_MINUTES} minutes' > clock_timestamp()
                 then t.last_used_at + interval '${REST_MINUTES} minutes' end as "restsUntil"
     from templates t where t.id = $1`,
    [id],
  );
  return result.rows[0]!;
}

function refuseTakenName(error: unknown, name: string): never {
  if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
  throw new Failure('badRequest', `name: there is already a template named '${name}'`, { isClash: true, cause: error });
}
