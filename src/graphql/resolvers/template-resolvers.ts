import type { TemplateId } from '../../core/ids.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { change } from '../../domain/change.ts';
import { updateFollowedTemplate } from '../../domain/endpoints/update-followed-template.ts';
import { builtInTemplates, findBuiltInTemplate } from '../../domain/templates/built-in-templates.ts';
import { createTemplate, deleteTemplate } from '../../domain/templates/change-template.ts';
import { findTemplateIdByName, getTemplateRow, listTemplateRows } from '../../domain/templates/template-store.ts';
import { toId } from '../container-wire.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { readInput } from '../inputs.ts';
import { type TemplateInput, toNewTemplate, toPodTemplate } from '../template-wire.ts';

export const templateResolvers: Resolvers = {
  Query: {
    podTemplate: async (_: unknown, args: { id: string }, call) => {
      const { userId } = call.permit(PERMISSIONS.readTemplate(args));
      const builtIn = findBuiltInTemplate(args.id);
      if (builtIn) return toPodTemplate(builtIn);
      return toPodTemplate(await getTemplateRow(call.deps.pool, userId, args.id as TemplateId));
    },
    podTemplates: (_: unknown, args: { input?: { isRunpod?: boolean | null } | null }, call) =>
      args.input?.isRunpod ? listBuiltIn(call) : listPodTemplates(call),
  },
  User: {
    podTemplates: (_: unknown, __: unknown, call) => listPodTemplates(call),
  },
  Mutation: {
    saveTemplate: async (_: unknown, args: { input?: TemplateInput | null }, call) => {
      const input = readInput(args);
      const id = toId(input.id);
      const actor = call.permit(PERMISSIONS.writeTemplate(id === null ? {} : { id }));
      const template = toNewTemplate(input);
      const saved =
        id === null
          ? await change(call.deps, actor, createTemplate, template)
          : await change(call.deps, actor, updateFollowedTemplate, {
              id: id as TemplateId,
              update: template,
              checkEndpoint: (endpoint) => void call.permit(PERMISSIONS.writeEndpoint({ id: endpoint })),
            });
      return toPodTemplate(saved);
    },
    deleteTemplate: async (_: unknown, { templateName }: { templateName: string }, call) => {
      const id = call.actor && (await findTemplateIdByName(call.deps.pool, call.actor.userId, templateName));
      // The id decides for a key restricted to one template; it is not revealed to other keys.
      const actor = call.permit(PERMISSIONS.writeTemplate(id ? { id } : {}));
      await change(call.deps, actor, deleteTemplate, { id: id ?? ('' as TemplateId) });
      return null;
    },
  },
};

function listBuiltIn(call: GraphqlCall) {
  call.permit(PERMISSIONS.readTemplate({}));
  return call.list(builtInTemplates(), toPodTemplate);
}

async function listPodTemplates(call: GraphqlCall) {
  const { userId } = call.permit(PERMISSIONS.readTemplate({}));
  const templates = await call.share('templates', () => listTemplateRows(call.deps.pool, userId));
  return call.list(templates, toPodTemplate);
}
