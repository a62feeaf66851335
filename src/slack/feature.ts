import type { ModalView } from '@slack/types';
import type { Account } from '../accounts/account.ts';
import type { Log } from '../lib/log.ts';
import type { PersonViewer } from '../orders/visibility.ts';
import type { SlackContext } from './context.ts';
import type { Message } from './kit/blocks.ts';
import type { FieldErrors, Form, FormOrigin, FormValues, FormView } from './kit/form.ts';
import type { Person, SlackDirectory } from './outbound/directory.ts';
import { SlackApiError } from './outbound/web.ts';

/** Something that a person does, and the ways to answer. */
export interface Interaction {
  readonly context: SlackContext;
  readonly person: Person;
  /** The channel where it happened; undefined in the Home tab. */
  readonly channelId: string | undefined;
  /** Set when it happened in a thread, or on a message in whose thread the answer belongs. */
  readonly threadTs: string | undefined;
  /** Identifies this delivery: the same when Slack delivers it again. */
  readonly deliveryId: string;
  /** When it arrived, in milliseconds of `performance.now`. */
  readonly arrivedAt: number;
  /** The person's active account. It is read once, so that everything in one delivery uses the same account. */
  account(): Promise<Account | undefined>;
  /** What the person's orders go out with: their active account, or the team's where they have none; read once too. */
  orderAccount(): Promise<Account | undefined>;
  /** All that this delivery changes is committed: Slack is told so. What follows is not waited for. */
  acknowledge(): void;
  /**
   * Says something to this person alone; a text is mrkdwn. It acknowledges the delivery, so changes are to be committed
   * before.
   * @param options.replace replaces the message whose button was pressed, where Slack still allows it
   */
  respond(message: Message | string, options?: { readonly replace?: boolean }): Promise<void>;
  /**
   * Says the outcome, but only for a delivery that was acknowledged before the outcome was known. Otherwise it is
   * shown elsewhere.
   */
  respondIfLate(message: Message | string): Promise<void>;
  /**
   * Opens a modal, on top of the one in which something was pressed. Slack allows that within 3 seconds of what the person
   * did. When it is too late, the person is told.
   * @param options.done runs when the modal is open; it may show something else in its place
   * @param options.undo runs when the modal could not be opened, before the person is told
   */
  open(
    view: ModalView,
    options?: { readonly done?: (viewId: string) => Promise<void>; readonly undo?: () => Promise<void> },
  ): Promise<void>;
}

export interface CommandCall extends Interaction {
  readonly channelId: string;
  readonly words: readonly string[];
  readonly reason: string | undefined;
}

export interface ActionCall extends Interaction {
  /** The button's value, or the chosen option. */
  readonly value: string;
  /** `block_id` of the row that it stands in. */
  readonly blockId: string;
  /** When it was pressed, as Slack writes it. */
  readonly pressedAt: string;
  /** The message with the button; undefined in a view. */
  readonly messageTs: string | undefined;
  /** The content of the modal, when the button stands in one. */
  readonly view:
    | {
        readonly id: string;
        /** Name of the form. */
        readonly form: string;
        readonly values: FormValues;
        readonly origin: FormOrigin;
      }
    | undefined;
}

export interface SubmissionCall extends Interaction {
  readonly values: FormValues;
  readonly origin: FormOrigin;
}

/** Another view in the place of a form. Long work runs in `meanwhile`, which may change that view again. */
export interface NextView {
  readonly view: ModalView;
  readonly meanwhile?: (show: (view: ModalView) => Promise<void>) => Promise<void>;
}

/** The result of a submitted form. */
export type Submitted =
  /** Shown at the fields; what was typed stays. */
  | { readonly errors: FieldErrors }
  /** The form closes; `say` goes to this person alone. */
  | { readonly say: Message | undefined }
  | NextView;

/**
 * What must hold before anything of a feature runs: `linked` is an account of one's own, `account` one that orders go out
 * with, which is the team's for people who have none.
 */
export type Needs = 'nothing' | 'member' | 'linked' | 'account' | 'admin';

export interface Command {
  /** After `/domain`. It begins with the subcommand's name. */
  readonly usage: string;
  /** Starts with a verb, ends without a full stop. */
  readonly summary: string;
  readonly example: string;
  run(call: CommandCall): Promise<void>;
}

/** What a form shows otherwise than it is declared. */
type Rendered = Partial<Pick<FormView, 'form' | 'origin' | 'values' | 'intro'>>;

export interface FormFeature<Name extends string = string> {
  readonly form: Form<Name>;
  /**
   * Why the form would be filled in for nothing: the person's active account cannot do what it is for, or the policy
   * refuses it for the values that the form opens with. Undefined when neither is so.
   */
  refusal?(call: Interaction, values?: FormValues): Promise<Message | undefined>;
  /** What is shown otherwise than declared and typed: fields may depend on the values. */
  render?(call: Interaction, origin: FormOrigin, values: FormValues): Promise<Rendered> | Rendered;
  /** The issues of the values that a form opens with, as far as they can be found without a request. */
  issuesOf?(values: FormValues): FieldErrors;
  submit(call: SubmissionCall): Promise<Submitted>;
}

export interface Action<Id extends string = string> {
  /** `action_id`. */
  readonly id: Id;
  run(call: ActionCall): Promise<void>;
}

/** One subject: its subcommands, forms and buttons together. */
export interface Feature {
  readonly commands?: readonly Command[];
  readonly forms?: readonly FormFeature[];
  readonly actions?: readonly Action[];
}

/** A command, form or action with what must hold before it runs. */
export type Permitted<Thing> = Thing & { readonly needs: Needs };

/** A command with its name. */
export type NamedCommand = Permitted<Command> & { readonly name: string };

/** Whether a person may change the settings and read the audit log. */
export function isAdmin(context: { readonly admins: readonly string[] }, person: Person): boolean {
  return person.isConfirmed && person.isMember && (person.isAdmin || context.admins.includes(person.id));
}

/** Whether a person is an admin at this moment. Nobody is while Slack does not tell. */
export async function isAdminNow(
  context: { readonly admins: readonly string[]; readonly directory: SlackDirectory; readonly log: Log },
  userId: string,
): Promise<boolean> {
  try {
    return isAdmin(context, await context.directory.person(userId, undefined));
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    context.log.warn({ err: error, userId }, 'checking whether a person is an admin');
    return false;
  }
}

/** The part of an interaction's person that decides what they may see. */
export function viewerOf({ context, person }: Interaction): PersonViewer {
  return { id: person.id, isAdmin: isAdmin(context, person) };
}

/**
 * The place of a form that reports its result where it was opened.
 * @param subject what the form is about
 */
export function formOrigin({ channelId = '', threadTs }: Interaction, subject?: string): FormOrigin {
  return { channelId, threadTs, subject };
}
