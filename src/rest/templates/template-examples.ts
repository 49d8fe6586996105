import { CONTAINER_EXAMPLE, type Examples } from '../shared/example-values.ts';

const settings = {
  ...CONTAINER_EXAMPLE,
  name: 'transcriber-base',
  mounts: {},
  serverless: true,
  public: false,
  category: 'NVIDIA',
  startSsh: true,
  startJupyter: false,
  allowedCudaVersions: ['12.8'],
};
const template = { id: 't8p3l5k1m6n9bv', ...settings };

export const TEMPLATE_EXAMPLES: Examples = {
  Template: template,
  TemplateList: { templates: [template] },
  CreateTemplateRequest: settings,
  UpdateTemplateRequest: { image: 'ghcr.io/example/transcriber:1.5.0' },
};
