import { Alert, Button, Group, Select, Stack, Table, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import builtIn from '../../../../src/domain/models/recipes.json';
import {
  bodyOf,
  chooseRecipe,
  describePlan,
  gbText,
  nameAfter,
  planServing,
  type Recipe,
  type ServingPlan,
  stockOf,
} from '../../../../src/domain/models/serve-model.ts';
import { api, unwrap } from '../../api/client.ts';
import { FormAlert } from '../../ui/error-alert.tsx';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { fitText, type ResolvedModel } from './model-values.ts';
import { storedModelsQuery, useSecretNames } from './models-query.ts';
import { resolveModel } from './resolve-model.ts';

const RECIPES = builtIn as unknown as Recipe[];
const PARENTS = [{ to: '/models', label: 'Models' }];

interface Found {
  source: string;
  tokenSecret: string | null;
  /** As the user named it; null: the hub's word decides. */
  recipeName: string | null;
  model: ResolvedModel;
  plan: ServingPlan;
}

/** A model becomes an endpoint: what is chosen and why is shown before anything is made. As `podyard deploy hf:…`. */
export function DeployModelPage() {
  const [form, secrets] = [useForm({ initialValues: { source: '', tokenSecret: '', recipe: '' } }), useSecretNames()];
  const look = useMutation({ meta: { isShownInPlace: true }, mutationFn: findPlan });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: ['source', 'tokenSecret', 'recipe'],
    save: async (values) => look.mutateAsync(values),
  });
  return (
    <Page
      title="Deploy a model"
      parents={PARENTS}
      description="A model of Hugging Face becomes an endpoint with an OpenAI-style URL."
    >
      <form onSubmit={submit} noValidate>
        <Stack maw={820}>
          <TextInput
            label="Model"
            description="hf:<owner>/<name>, or the address of its page"
            required
            autoComplete="off"
            {...form.getInputProps('source')}
          />
          <Group grow align="flex-start">
            <Select
              label="Token"
              description="The secret with a token, for a gated or private model"
              data={secrets}
              clearable
              {...form.getInputProps('tokenSecret')}
            />
            <Select
              label="Recipe"
              description="By default, what the hub says that the model is for decides"
              data={RECIPES.map(({ name }) => name)}
              clearable
              {...form.getInputProps('recipe')}
            />
          </Group>
          <FormAlert errors={otherErrors} />
          <Group>
            <Button type="submit" loading={isSaving}>
              Look it up
            </Button>
          </Group>
        </Stack>
      </form>
      {look.data && <Plan key={JSON.stringify(look.variables)} found={look.data} />}
    </Page>
  );
}

async function findPlan(values: { source: string; tokenSecret: string | null; recipe: string | null }): Promise<Found> {
  const tokenSecret = values.tokenSecret || null;
  const recipeName = values.recipe || null;
  const source = values.source.trim();
  const [model, capacity, types] = await Promise.all([
    resolveModel({ source, tokenSecret }),
    unwrap(api.GET('/v2/catalog/capacity')),
    unwrap(api.GET('/v2/catalog/gpus')),
  ]);
  const chosen = chooseRecipe(RECIPES, model, recipeName ?? undefined);
  if (!('recipe' in chosen)) {
    const choice = chosen.isChoice ? 'choose one above, or ' : '';
    throw new Error(`${chosen.problem}: ${choice}create an endpoint with an image of your own and this model`);
  }
  const plan = planServing(chosen.recipe, model, stockOf(capacity.gpus, types.gpus));
  return { source, tokenSecret, recipeName, model, plan };
}

function Plan({ found }: { found: Found }) {
  const { model, plan, source, tokenSecret } = found;
  const stored = useQuery(storedModelsQuery);
  const fit = stored.data ? fitText({ id: model.id, bytes: plan.chosen.bytes }, stored.data) : null;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({ initialValues: { name: nameAfter(model) } });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: ['name'],
    save: async ({ name }) => {
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
      const models = [{ source, tokenSecret, exclude: plan.chosen.exclude }];
      return unwrap(
        api.POST('/v2/serverless', {
          body: {
            ...body,
            type: 'LOAD_BALANCER',
            workers: { ...workers, idleTimeout: scaling.idleTimeout },
            scaling: { type: 'REQUEST_COUNT', requestCount: 4 },
            models,
          },
        }),
      );
    },
    onSaved: async (endpoint) => {
      await queries.invalidateQueries({ queryKey: ['endpoints'] });
      notifySuccess(`Deployed ${endpoint.name}.`);
      navigate(`/endpoints/${endpoint.id}`);
    },
  });
  const why = found.recipeName === null ? `because the hub says ${model.task}` : 'as you chose';
  return (
    <form onSubmit={submit} noValidate>
      <Stack maw={820}>
        <Table variant="vertical" layout="auto" aria-label="What will be deployed">
          <Table.Tbody>
            {[...describePlan(plan, why), ...(fit === null ? [] : [['disk', fit] as const])].map(([label, value]) => (
              <Table.Tr key={label}>
                <Table.Th w={110}>{label.charAt(0).toUpperCase() + label.slice(1)}</Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{visibleText(value)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {plan.placement === null ? (
          <Alert color="orange" role="alert">
            No GPUs here have {gbText(plan.needGb)} of memory for a worker: choose a smaller or quantized model.
          </Alert>
        ) : (
          <>
            <TextInput label="Name of the endpoint" required autoComplete="off" {...form.getInputProps('name')} />
            <FormAlert errors={otherErrors} />
            <Group>
              <Button type="submit" loading={isSaving}>
                Deploy
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </form>
  );
}
