import type { z } from 'zod';
import { removeDuplicates } from '../lib/collections.ts';
import type { NameKind } from '../policy/subject.ts';
import type { ServiceCall, ServiceClient } from '../service/client.ts';
import { InvalidInputError } from '../service/codec/codec-errors.ts';
import { type AvailableInterfaces, chooseInterface, getTaskInterfaces } from '../service/interfaces.ts';
import { describeRequest, insertSecrets } from '../service/request-description.ts';
import type { RequestIssue } from '../service/request-issue.ts';
import type { Secret, SecretCommitment } from '../service/secret.ts';
import type {
  Effect,
  Interface,
  RequestDescription,
  SendableTask,
  ServiceTask,
  TaskOutline,
} from '../service/task.ts';
import { guessZone, parseDomainName } from '../zones/names.ts';
import { findZoneProfile } from '../zones/rules.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import { zoneIssueSchema } from '../zones/zone-issue.ts';
import {
  type ChargeStatus,
  checkTask,
  findCharge,
  findTransferLock,
  listTaskNotes,
  type TaskNote,
  type ZoneTask,
} from '../zones/zone-tasks.ts';
import {
  type InputIssue,
  limitIssueCodeSchema,
  type PlainIssueCode,
  plainIssueCodeSchema,
} from './input-issue.ts';
import type { InterfaceConstraint, InterfaceConstraints } from './interface-constraint.ts';
import type { OrderTaskName } from './order.ts';
import type { StatementItem, StatementRequest } from './statement-shape.ts';

export interface RequestedItem {
  readonly input: unknown;
  readonly name: string;
  readonly secret: SecretCommitment | undefined;
}

/** A service call whose output is a secret, which is shown once, and only to the requester. */
export type OrderCall = ServiceCall<Secret | undefined>;

/** A request that is about to be sent, as described in the statement. */
export interface OutgoingRequest {
  readonly item: StatementItem;
  /** Keyed by the secret's hash in the statement. */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly replyTo: string | undefined;
  readonly signal: AbortSignal;
}

export type Risk = 'none' | 'loses_name' | 'takes_down';

/** The step that remains after the service has accepted a task. */
export type NextStep = 'transfer_period' | 'manual_processing' | 'no_public_record';

/** A task's wording in cards, help, menus and confirmations. */
export interface TaskWords {
  /** Precedes the name: `Renew`. */
  readonly verb: string;
  /** Past tense: `Renewed`. */
  readonly pastTense: string;
  /** Plural noun within a sentence: `renewals`. */
  readonly plural: string;
  /** Title of the form and of the menu entry. */
  readonly title: string;
  /** Line in the help text. */
  readonly summary: string;
  /** Button of the form. */
  readonly submitLabel: string;
  /** Button that confirms a draft. */
  readonly confirmLabel?: string;
}

/** Fields that a task's definition and its row in {@link ORDER_TASKS} share. */
interface DeclaredTask<Name extends string> {
  readonly name: Name;
  readonly words: TaskWords;
  readonly risk: Risk;
  /** The kind of names that the task is for, used by policy rules. */
  readonly nameKind: NameKind;
  /** The task in zone profiles. Omitted for tasks that aren't for domain names. */
  readonly zoneTask?: ZoneTask | undefined;
  /** Omitted if a task is complete once the service accepts it. */
  readonly nextStep?: NextStep | undefined;
  readonly formNote?: TaskNote | undefined;
  readonly secretField?: 'auth' | 'password' | undefined;
}

/** A row in {@link ORDER_TASKS}. */
export interface OrderTask<Name extends string = OrderTaskName> extends DeclaredTask<Name> {
  readonly effect: Effect;
  /** Whether orders send requests to the service. If not, they take effect only in the bot. */
  readonly sendsRequests: boolean;
  readonly idempotent: boolean;
  /** Whether orders start as `DRAFT`: the requester must confirm them before anyone else sees them. */
  readonly needsConfirmation: boolean;
  readonly nameField: string;
  /** Whether the service's answer contains a secret for the requester. */
  readonly hasSecretResult: boolean;
  /** Why the task isn't possible with an account's interfaces; undefined if the task is possible. */
  findUnsupportedReason(interfaces: AvailableInterfaces): RequestIssue | undefined;
  /** The account's interfaces that support the task. */
  getSupportedInterfaces(interfaces: AvailableInterfaces): AvailableInterfaces;
  /**
   * Finds the fields and values of an input that only one interface documents. They decide which interface is used.
   * @param input as entered, or as stored
   */
  findConstraints(input: unknown): InterfaceConstraints;
  /** Issues for fields that need an interface that the account doesn't have. */
  findInterfaceIssues(interfaces: AvailableInterfaces, input: unknown): readonly InputIssue[];
  /**
   * Checks an input against the zone's rules. Called for a new request, and again before the order is sent.
   * @param input as entered, or as stored
   */
  check(
    input: unknown,
  ):
    | { readonly ok: true; readonly input: unknown; readonly names: readonly string[] }
    | { readonly ok: false; readonly issues: readonly InputIssue[] };
  /** The names in an input, even if other fields are missing or wrong. Empty if no name is readable. */
  findNames(input: unknown): readonly string[];
  /** Additional notes for approvers, from the zone profile and the service API. */
  listNotes(names: readonly string[]): readonly TaskNote[];
  findTransferLock(name: string): { readonly days: number; readonly since: string } | undefined;
  /** Whether the task costs money, as documented. An undocumented task isn't assumed to be free. */
  findCharge(names: readonly string[]): ChargeStatus;
  /** Returns the input with only some of its names, for a retry. */
  restrictInput(input: unknown, names: readonly string[]): unknown;
  /**
   * Describes the request for one name. Pure.
   * @param interfaces the account's interfaces
   * @throws {InvalidInputError} if the request can't be sent
   */
  describeRequest(
    requested: RequestedItem,
    interfaces: AvailableInterfaces,
  ): RequestDescription | Extract<StatementRequest, { interface: 'none' }>;
  /** Prepares a request's call. Sends nothing yet. @throws {ServiceError | InvalidInputError} */
  beginCall(client: ServiceClient, request: OutgoingRequest): OrderCall;
}

interface TaskDefinition<Name extends string, Input, Wire, Output> extends DeclaredTask<Name> {
  readonly service: ServiceTask<Wire, Output>;
  readonly needsConfirmation?: boolean;
  readonly input: z.ZodType<Input> & Pick<z.ZodObject, 'partial'>;
  /** Default: reads `nameField`. */
  readonly findNames?: (input: Input) => readonly string[];
  /** Default: `name`. */
  readonly nameField?: string;
  /**
   * Finds issues that the fields' own schemas can't find.
   * @param zones the zones of all names, valid or not; the general profile if there are no names
   * @param isComplete whether all fields could be parsed
   */
  readonly findIssues?: (
    input: Partial<Input>,
    zones: readonly ZoneProfile[],
    isComplete: boolean,
  ) => readonly InputIssue[];
  readonly toWire: (input: Input, name: string, secret: SecretCommitment | undefined) => Wire;
  readonly restrictInput?: (input: Input, names: readonly string[]) => Input;
  readonly extractSecret?: (output: Output) => Secret | undefined;
  /** Notes from the service API that apply in every zone. */
  readonly taskNotes?: readonly TaskNote[];
  /** Default: no constraints. */
  readonly findConstraints?: (input: Readonly<Record<string, unknown>>) => InterfaceConstraints;
}

const UNCONSTRAINED: InterfaceConstraints = { json: [], xml: [] };

function findInterfaceIssues(
  service: TaskOutline,
  { json, xml }: InterfaceConstraints,
  interfaces: AvailableInterfaces,
): readonly InputIssue[] {
  const [xmlConstraint] = xml;
  if (xmlConstraint !== undefined && json.length > 0) {
    return json.map(({ field, kind }) => ({
      field,
      code: 'interfaces_conflict',
      jsonConstraint: kind,
      xmlConstraint: xmlConstraint.kind,
    }));
  }
  const listUnavailableIssues = (
    needs: Interface,
    constraints: readonly InterfaceConstraint[],
  ): InputIssue[] =>
    constraints.length === 0 || getTaskInterfaces(service, interfaces)[needs]
      ? []
      : constraints.map(({ field, kind }) => ({
          field,
          code: 'interface_out_of_reach',
          needs,
          constraint: kind,
        }));
  return [...listUnavailableIssues('xml', xml), ...listUnavailableIssues('json', json)];
}

/** The interface that an input needs; undefined if either interface will do. */
function findRequiredInterface({ json, xml }: InterfaceConstraints): Interface | undefined {
  return xml.length > 0 ? 'xml' : json.length > 0 ? 'json' : undefined;
}

function omitInvalidFields(raw: unknown, issues: readonly z.core.$ZodIssue[]): object {
  const invalidFields = new Set(issues.map(({ path }) => path[0]));
  return Object.fromEntries(
    Object.entries(typeof raw === 'object' && raw !== null ? raw : {}).filter(
      ([name]) => !invalidFields.has(name),
    ),
  );
}

function listFieldTexts(input: unknown, field: string): readonly string[] {
  const entries = Object.entries(typeof input === 'object' && input !== null ? input : {});
  const value: unknown = entries.find(([name]) => name === field)?.[1];
  return [value].flat().filter((text) => typeof text === 'string');
}

/** The zone profiles of names as entered. The zone of an invalid name is guessed from the end of the name. */
function findZones(raw: unknown, nameField: string): readonly ZoneProfile[] {
  const zones = listFieldTexts(raw, nameField).map((name) => {
    const parsed = parseDomainName(name);
    return findZoneProfile(parsed.ok ? parsed.value.ascii : (guessZone(name) ?? ''));
  });
  return zones.length === 0 ? [findZoneProfile('')] : [...new Set(zones)];
}

/** Used if a Zod message isn't one of our issue codes, for example for an input that another release stored. */
const UNREADABLE: PlainIssueCode = 'unreadable';

/** Converts a Zod issue, whose message is one of our issue codes, or whose `params` contain a zone issue. */
function toInputIssue(issue: z.core.$ZodIssue): InputIssue {
  const field = issue.path.filter((part) => typeof part === 'string').join('_');
  const parsedZoneIssue = zoneIssueSchema.safeParse(
    issue.code === 'custom' ? issue.params?.['issue'] : undefined,
  );
  if (parsedZoneIssue.success) return { field, code: 'zone_issue', issue: parsedZoneIssue.data };
  const limit = limitIssueCodeSchema.safeParse(issue.message);
  if (issue.code === 'too_big' && limit.success)
    return { field, code: limit.data, max: Number(issue.maximum) };
  return { field, code: plainIssueCodeSchema.safeParse(issue.message).data ?? UNREADABLE };
}

/** Combines a task's definition with the behavior that all tasks share. */
export function defineOrderTask<const Name extends string, Input, Wire, Output>(
  definition: TaskDefinition<Name, Input, Wire, Output>,
): OrderTask<Name> {
  const { name, words, risk, nameKind, zoneTask, nextStep, formNote, secretField, ...taskBehavior } =
    definition;
  const { service, nameField = 'name' } = taskBehavior;
  const partialInput = taskBehavior.input.partial();
  const findConstraints = (raw: unknown): InterfaceConstraints =>
    typeof raw === 'object' && raw !== null
      ? (taskBehavior.findConstraints?.({ ...raw }) ?? UNCONSTRAINED)
      : UNCONSTRAINED;
  return {
    name,
    words,
    effect: service.effect,
    sendsRequests: true,
    risk,
    nameKind,
    idempotent: service.idempotent,
    needsConfirmation: taskBehavior.needsConfirmation ?? false,
    nameField,
    zoneTask,
    nextStep,
    formNote,
    secretField,
    hasSecretResult: taskBehavior.extractSecret !== undefined,
    ...buildZoneMethods(zoneTask, taskBehavior.taskNotes ?? []),
    findConstraints,
    findUnsupportedReason(interfaces) {
      const support = chooseInterface(service, interfaces);
      return 'unsupported' in support ? support.unsupported : undefined;
    },
    getSupportedInterfaces: (interfaces) => getTaskInterfaces(service, interfaces),
    findInterfaceIssues: (interfaces, raw) => findInterfaceIssues(service, findConstraints(raw), interfaces),
    check(raw) {
      const parsed = taskBehavior.input.safeParse(raw, { error: () => UNREADABLE });
      if (parsed.success) return checkInput(definition, parsed.data);
      const { issues } = parsed.error;
      // The cast is safe: each remaining field was parsed by its own schema.
      const validFields = (partialInput.safeParse(omitInvalidFields(raw, issues)).data ??
        {}) as Partial<Input>;
      const otherIssues = taskBehavior.findIssues?.(validFields, findZones(raw, nameField), false) ?? [];
      return { ok: false, issues: [...issues.map(toInputIssue), ...removeDuplicates(otherIssues)] };
    },
    findNames(raw) {
      const parsed = partialInput.safeParse(raw);
      const parsedFields = parsed.success
        ? parsed
        : partialInput.safeParse(omitInvalidFields(raw, parsed.error.issues));
      return listFieldTexts(parsedFields.data, nameField);
    },
    restrictInput(raw, names) {
      const input = taskBehavior.input.parse(raw);
      return taskBehavior.restrictInput?.(input, names) ?? input;
    },
    describeRequest: (requested, interfaces) =>
      describeItemRequest(definition, requested, interfaces, findConstraints(requested.input)),
    beginCall: beginCall(service, taskBehavior.extractSecret),
  };
}

/** Checks an input whose fields are each valid. */
function checkInput<Input>(
  {
    findNames,
    nameField: field = 'name',
    zoneTask,
    findIssues,
  }: Pick<
    TaskDefinition<string, Input, unknown, unknown>,
    'findNames' | 'nameField' | 'zoneTask' | 'findIssues'
  >,
  input: Input,
): ReturnType<OrderTask['check']> {
  const inputNames = findNames?.(input) ?? listFieldTexts(input, field);
  const zones = inputNames.map(findZoneProfile);
  const zoneIssues = zoneTask === undefined ? [] : zones.flatMap((zone) => checkTask(zone, zoneTask));
  const issues = removeDuplicates<InputIssue>([
    ...zoneIssues.map((issue) => ({ field, code: 'zone_issue' as const, issue })),
    ...(findIssues?.(input, zones, true) ?? []),
  ]);
  return issues.length > 0 ? { ok: false, issues } : { ok: true, input, names: inputNames };
}

function buildZoneMethods(
  zoneTask: ZoneTask | undefined,
  taskNotes: readonly TaskNote[],
): Pick<OrderTask, 'listNotes' | 'findTransferLock' | 'findCharge'> {
  if (zoneTask === undefined)
    return { listNotes: () => taskNotes, findTransferLock: () => undefined, findCharge: () => 'not_stated' };
  return {
    listNotes(names) {
      const notes = names.flatMap((name) => listTaskNotes(findZoneProfile(name), zoneTask));
      return [...removeDuplicates(notes), ...taskNotes];
    },
    findTransferLock: (name) => findTransferLock(findZoneProfile(name), zoneTask),
    findCharge(names) {
      const charges = names.map((name) => findCharge(findZoneProfile(name), zoneTask));
      return charges.find((charge) => charge !== 'no') ?? 'no';
    },
  };
}

function describeItemRequest<Input, Wire, Output>(
  {
    input: schema,
    service,
    toWire,
  }: Pick<TaskDefinition<string, Input, Wire, Output>, 'input' | 'service' | 'toWire'>,
  { input, name, secret }: RequestedItem,
  interfaces: AvailableInterfaces,
  constraints: InterfaceConstraints,
): RequestDescription {
  const parsed = schema.safeParse(input);
  if (!parsed.success) throw new InvalidInputError('the order’s input can’t be read');
  const choice = chooseInterface(service, interfaces, findRequiredInterface(constraints));
  if ('unsupported' in choice) throw new InvalidInputError(choice.unsupported.code, choice.unsupported);
  return describeRequest(service, toWire(parsed.data, name, secret), choice.interface);
}

function beginCall<Output>(
  service: SendableTask<Output>,
  extractSecret: ((output: Output) => Secret | undefined) | undefined,
): OrderTask['beginCall'] {
  const secretOnlyService: SendableTask<Secret | undefined> = {
    ...service,
    parseOutput(response) {
      const parsed = service.parseOutput(response);
      return { ...parsed, output: extractSecret?.(parsed.output) };
    },
  };
  return (client, { item: { name, ctid, request }, secrets, ...options }) => {
    if (request.interface === 'none') throw new InvalidInputError('this task sends no request');
    return client.beginDescribedCall(secretOnlyService, {
      ...options,
      ...{ ctid, itemName: name, description: insertSecrets(request, secrets) },
    });
  };
}
