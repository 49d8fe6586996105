import { expect, test } from 'vitest';
import { NEW_TEMPLATE, newTemplateBody, type Template, templateUpdateBody, templateValues } from './template-values.ts';

const TEMPLATE: Template = {
  id: 't1',
  name: 'base',
  image: 'podyard/web-js:dev',
  args: '',
  disk: 20,
  ports: ['8888/http'],
  env: { MODEL: 'small' },
  registry: 'r1',
  mounts: {},
  serverless: false,
  public: false,
  category: 'CPU',
  startSsh: false,
  startJupyter: false,
  allowedCudaVersions: [],
};

test('a template round-trips through the form values, with its registry credentials', () => {
  const { name, image, args, disk, ports, env, registry, startSsh, startJupyter, public: isPublic } = TEMPLATE;
  expect(templateUpdateBody(templateValues(TEMPLATE))).toEqual({
    ...{ name, image, args, disk, ports, env, registry, startSsh, startJupyter },
    public: isPublic,
  });
});

test('a new template is for endpoints by default', () => {
  expect(newTemplateBody(NEW_TEMPLATE).serverless).toBe(true);
  expect(newTemplateBody({ ...NEW_TEMPLATE, kind: 'pod' }).serverless).toBe(false);
});

test("an update leaves the template's type out", () => {
  expect(templateUpdateBody(templateValues(TEMPLATE))).not.toHaveProperty('serverless');
});
