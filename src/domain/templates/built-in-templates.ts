import type { TemplateId, UserId } from '../../core/ids.ts';
import { type CatalogTemplate, catalogTemplates } from '../catalog/catalog.ts';
import type { Template } from './template.ts';

/** The owner of built-in templates: no user has this id. */
const PODYARD = '' as UserId;
/** They have no moment of creation; every server shows the same one. */
const CREATED_AT = new Date('2026-01-01T00:00:00Z');

/** Returns the templates of the catalog: public, and without an owner. */
export function builtInTemplates(): Template[] {
  return catalogTemplates().map(toTemplate);
}

export function findBuiltInTemplate(id: string): Template | undefined {
  const template = catalogTemplates().find((one) => one.id === id);
  return template && toTemplate(template);
}

export function isBuiltIn({ userId }: Pick<Template, 'userId'>): boolean {
  return userId === PODYARD;
}

function toTemplate({ id, readme, ...settings }: CatalogTemplate): Template {
  return {
    ...settings,
    id: id as TemplateId,
    userId: PODYARD,
    registryId: null,
    isPublic: true,
    mark: 'OFFICIAL',
    startSsh: true,
    startJupyter: true,
    allowedCudaVersions: [],
    clientSettings: { readme },
    endpointId: null,
    createdAt: CREATED_AT,
  };
}
