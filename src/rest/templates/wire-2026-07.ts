import { TEMPLATE_EXAMPLES } from './template-examples.ts';
import { createTemplateRequest } from './template-schemas.ts';
import type { TemplateWire } from './template-wire.ts';

const CreateRequest = createTemplateRequest({}, false);

export const TEMPLATE_WIRE_2026_07: TemplateWire = {
  schemas: [CreateRequest],
  examples: { CreateTemplateRequest: TEMPLATE_EXAMPLES.CreateTemplateRequest },
  CreateRequest,
  sshByDefault: true,
  startByDefault: null,
};
