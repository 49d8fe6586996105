import { TEMPLATE_EXAMPLES } from './template-examples.ts';
import { createTemplateRequest } from './template-schemas.ts';
import type { TemplateWire } from './template-wire.ts';

const CreateRequest = createTemplateRequest({ default: true }, true);

export const TEMPLATE_WIRE_2026_08: TemplateWire = {
  schemas: [CreateRequest],
  examples: { CreateTemplateRequest: TEMPLATE_EXAMPLES.CreateTemplateRequest },
  CreateRequest,
  sshByDefault: false,
  startByDefault: true,
};
