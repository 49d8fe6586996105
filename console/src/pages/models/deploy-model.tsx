import { Button, Group, Select, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import {
  bodyOf,
  chooseRecipe,
  describePlan,
  gbText,
  nameAfter,
  planServing,
  type ServingPlan,
  stockOf,
} from '../../../../src/domain/models/serve-model.ts';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { FormLayout } from '../../ui/forms/form-layout.tsx';
import { Summary, type SummaryText } from '../../ui/forms/summary.tsx';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import type { Endpoint } from '../endpoints/settings/endpoint-values.ts';
import { fitText, type ResolvedModel } from './model-values.ts';
import { storedModelsQuery } from './models-query.ts';
import { recipesQuery, resolveModel } from './resolve-model.ts';
import { TokenSelect } from './token-select.tsx';

const PARENTS = [{ to: '/models', label: 'Models' }];

interface Found {
  /** The text that was looked up. */
  key: string;
  source: string;
  tokenSecret: string | null;
  /** As the user named it; null: the hub's word decides. */
  recipeName: string | null;
  model: ResolvedModel;
  plan: ServingPlan;
}

const INITIAL = { source: '', tokenSecret: '', recipe: '', name: '' };
type Values = typeof INITIAL;

/** A model becomes an endpoint: what is chosen and why is shown before anything is made. As `podyard deploy hf:…`. */
export function DeployModelPage() {
  return (
    <Page
      title="Deploy a model"
      parents={PARENTS}
      description="A model of Hugging Face becomes an endpoint with an OpenAI-style URL."
    >
      <DeployForm />
    </Page>
  );
}

/** Its button looks the model up first, and deploys once the plan stands beside the fields. */
function DeployForm() {
  const form = useForm({ mode: 'controlled', initialValues: INITIAL });
  const stored = useQuery(storedModelsQuery).data;
  const recipes = useQuery(recipesQuery).data ?? [];
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [last, setLast] = useState<Found | null>(null);
  // Another model, token or recipe is looked up anew.
  const found = last !== null && last.key === keyOf(form.values) ? last : null;
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: Object.keys(INITIAL),
    save: async (values) => {
      if (found !== null) return deploy(found, values.name);
      const plan = await findPlan(values);
      setLast(plan);
      if (values.name === '') form.setFieldValue('name', nameAfter(plan.model));
      return null;
    },
    onSaved: async (endpoint) => {
      if (endpoint === null) return;
      await queries.invalidateQueries({ queryKey: ['endpoints'] });
      notifySuccess(`Deployed ${endpoint.name}.`);
      navigate(`/endpoints/${endpoint.id}`);
    },
  });
  return (
    <FormLayout
      onSubmit={submit}
      summary={<Summary text={planSummary(found, stored)} />}
      errors={otherErrors}
      actions={
        <Button type="submit" loading={isSaving} disabled={found?.plan.placement === null}>
          {found === null ? 'Look it up' : 'Deploy'}
        </Button>
      }
    >
      <TextInput
        label="Model"
        description="hf:<owner>/<name>, or the address of its page"
        required
        autoComplete="off"
        {...form.getInputProps('source')}
      />
      <Group grow align="flex-start">
        <TokenSelect {...form.getInputProps('tokenSecret')} />
        <Select
          label="Recipe"
          description="By default, what the hub says that the model is for decides"
          data={recipes.map(({ name }) => name)}
          clearable
          {...form.getInputProps('recipe')}
          value={form.values.recipe || null}
        />
      </Group>
      {found && found.plan.placement !== null && (
        <TextInput label="Name of the endpoint" required autoComplete="off" {...form.getInputProps('name')} />
      )}
    </FormLayout>
  );
}

function keyOf({ source, tokenSecret, recipe }: Values): string {
  return JSON.stringify([source.trim(), tokenSecret || null, recipe || null]);
}

async function findPlan(values: Values): Promise<Found> {
  const tokenSecret = values.tokenSecret || null;
  const recipeName = values.recipe || null;
  const source = values.source.trim();
  const [model, capacity, types] = await Promise.all([
    resolveModel({ source, tokenSecret }),
    unwrap(api.GET('/v2/catalog/capacity')),
    unwrap(api.GET('/v2/catalog/gpus')),
  ]);
  const chosen = chooseRecipe(model.recipes, model, recipeName ?? undefined);
  if (!('recipe' in chosen)) {
    const choice = chosen.isChoice ? 'choose one above, or ' : '';
    throw new Error(`${chosen.problem}: ${choice}create an endpoint with an image of your own and this model`);
  }
  const plan = planServing(chosen.recipe, model, stockOf(capacity.gpus, types.gpus));
  return { key: keyOf(values), source, tokenSecret, recipeName, model, plan };
}

function planSummary(found: Found | null, stored: Schemas['MachineModelList'] | undefined): SummaryText {
  if (found === null) return { facts: [{ label: 'Looks up', value: 'what the model needs, and whether it fits' }] };
  const { model, plan } = found;
  const why = found.recipeName === null ? `because the hub says ${model.task}` : 'as you chose';
  const fit = stored ? fitText({ id: model.id, bytes: plan.chosen.bytes }, stored) : null;
  const rows = [...describePlan(plan, why), ...(fit === null ? [] : [['disk', fit] as const])];
  return {
    facts: rows.map(([label, value]) => ({ label: label.charAt(0).toUpperCase() + label.slice(1), value })),
    warning:
      plan.placement === null
        ? `No GPUs here have ${gbText(plan.needGb)} of memory for a worker: choose a smaller or quantized model.`
        : null,
  };
}

async function deploy({ plan, model, source, tokenSecret }: Found, name: string): Promise<Endpoint> {
  const {
    type: _,
    scaling,
    workers,
    ...body
  } = bodyOf(plan.recipe, {
    name,
    model: model.name,
    placement: plan.placement!,
  });
  return unwrap(
    api.POST('/v2/serverless', {
      body: {
        ...body,
        type: 'LOAD_BALANCER',
        workers: { ...workers, idleTimeout: scaling.idleTimeout },
        scaling: { type: 'REQUEST_COUNT', requestCount: 4 },
        models: [{ source, tokenSecret, exclude: plan.chosen.exclude }],
      },
    }),
  );
}
