import type { ModalView } from '@slack/types';
import type { Account } from '../accounts/account.ts';
import type { Log } from '../lib/log.ts';
import type { PersonViewer } from '../orders/visibility.ts';
import type { Needs } from './capability.ts';
import type { SlackContext } from './context.ts';
import type { Message } from './kit/blocks.ts';
import type { FieldErrors, Form, FormContent, FormOrigin, FormValues } from './kit/form.ts';
import type { Person, SlackDirectory } from './outbound/directory.ts';
import { SlackApiError } from './outbound/web.ts';

export interface Interaction {
  readonly context: SlackContext;
  readonly person: Person;
  readonly channelId: string | undefined;
  /** The thread that gets the answer. Set for clicks in a thread and for the message shortcut. */
  readonly threadTs: string | undefined;
  /** Stays the same if Slack redelivers. */
  readonly deliveryId: string;
  /** In ms, from `performance.now`. */
  readonly arrivedAt: number;
  /** The person's active account. Read once, so that a delivery uses only one account. */
  loadAccount(): Promise<Account | undefined>;
  /** The account for orders: the person's active one, or else the team's. Read once. */
  loadOrderAccount(): Promise<Account | undefined>;
  /** Commit this delivery's changes before the call, because later work isn't awaited. */
  acknowledge(): void;
  /**
   * Replies to this person only. A string is treated as mrkdwn. Acknowledges the delivery, so commit changes first.
   * @param options.replace replaces the clicked message, if Slack still allows it
   */
  respond(message: Message | string, options?: { readonly replace?: boolean }): Promise<void>;
  /**
   * Replies only if the delivery was acknowledged before its outcome was known. Otherwise, a card or thread shows the
   * outcome.
   */
  respondIfLate(message: Message | string): Promise<void>;
  /**
   * Opens a modal, on top of the clicked modal if there is one. Slack allows this within 3 seconds of the action. After
   * 3 seconds, the person is asked to try again.
   */
  open(view: ModalView, options?: OpenOptions): Promise<void>;
}

interface OpenOptions {
  /** Runs once the modal is open. May replace its view. */
  readonly onOpened?: (viewId: string) => Promise<void>;
  /** Runs if opening failed, before the person is notified. */
  readonly onFailed?: () => Promise<void>;
}

export interface CommandCall extends Interaction {
  readonly channelId: string;
  readonly words: readonly string[];
  readonly reason: string | undefined;
  /** The text after `at`, for commands that accept a time. */
  readonly sendAt?: string | undefined;
}

export interface ActionCall extends Interaction {
  readonly value: string;
  readonly blockId: string;
  /** Slack's timestamp of the click. */
  readonly clickedAt: string;
  readonly messageTs: string | undefined;
  /** The content of the modal, if the button is in one. */
  readonly view:
    | {
        readonly id: string;
        readonly formName: string;
        readonly values: FormValues;
        readonly origin: FormOrigin;
      }
    | undefined;
}

export interface SubmissionCall extends Interaction {
  readonly values: FormValues;
  readonly origin: FormOrigin;
}

/** Replaces the form. Long work runs in the background and may update the view again. */
export interface NextView {
  readonly view: ModalView;
  readonly backgroundTask?: (show: (view: ModalView) => Promise<void>) => Promise<void>;
}

export type SubmissionResult =
  | { readonly errors: FieldErrors }
  /** Closes the form. The reply is shown to this person only. */
  | { readonly reply: Message | undefined }
  | NextView;

export interface Command {
  /** The text after `/domain`. Starts with the subcommand's name. */
  readonly usage: string;
  /** Starts with a verb and has no final period. */
  readonly summary: string;
  readonly example: string;
  /** Whether the command may end with `at TIME`. If undefined, `at` is an ordinary word. */
  readonly time?: 'accepted' | 'rejected';
  run(call: CommandCall): Promise<void>;
}

export type FormOverrides = Partial<Pick<FormContent, 'form' | 'origin' | 'values' | 'intro'>>;

export interface FormFeature<Name extends string = string> {
  readonly form: Form<Name>;
  /** Returns a refusal if the person's account lacks the rights or the policy refuses the initial values. */
  checkAccess?(interaction: Interaction, values?: FormValues): Promise<Message | undefined>;
  /** Overrides the declared form and the entered values, because fields may depend on values. */
  render?(call: Interaction, origin: FormOrigin, values: FormValues): Promise<FormOverrides> | FormOverrides;
  findFieldErrors?(values: FormValues): FieldErrors;
  submit(call: SubmissionCall): Promise<SubmissionResult>;
}

export interface Action<Id extends string = string> {
  /** Slack's `action_id`. */
  readonly id: Id;
  run(call: ActionCall): Promise<void>;
}

export interface Feature {
  readonly commands?: readonly Command[];
  readonly forms?: readonly FormFeature[];
  readonly actions?: readonly Action[];
}

export type Registered<Declaration> = Declaration & { readonly needs: Needs };

export type RegisteredCommand = Registered<Command> & { readonly name: string };

/** Whether a person may change settings and read the audit log. */
export function isAdmin(context: { readonly admins: readonly string[] }, person: Person): boolean {
  return person.isConfirmed && person.isMember && (person.isAdmin || context.admins.includes(person.id));
}

/** False if Slack doesn't answer. */
export async function isCurrentAdmin(
  context: { readonly admins: readonly string[]; readonly directory: SlackDirectory; readonly log: Log },
  userId: string,
): Promise<boolean> {
  try {
    return isAdmin(context, await context.directory.loadPerson(userId, undefined));
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    context.log.warn({ err: error, userId }, 'checking whether a person is an admin failed');
    return false;
  }
}

export function toViewer({ context, person }: Interaction): PersonViewer {
  return { id: person.id, isAdmin: isAdmin(context, person) };
}

/**
 * For a form whose outcome is reported where the form was opened.
 * @param subject what the form is about
 */
export function toFormOrigin({ channelId = '', threadTs }: Interaction, subject?: string): FormOrigin {
  return { channelId, threadTs, subject };
}
