import * as v from 'valibot';
import type { ReturnedMessage } from './bridge/events.ts';
import type { Activity, Conversation, Message, SessionEvent } from './conversation.ts';

/** Ids made by a browser. */
const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
/** Pi's session ids: they name files, so nothing else is taken. */
export const SessionId = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/));
const Text = v.pipe(v.string(), v.maxLength(4_000_000));
const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
const ImageData = v.strictObject({
	data: v.pipe(v.string(), v.base64()),
	mimeType: v.pipe(v.string(), v.regex(/^image\/(png|jpeg|gif|webp)$/)),
});

/** What a person asks of a session. */
const Command = v.variant('type', [
	v.strictObject({
		type: v.literal('prompt'),
		text: Text,
		images: v.array(ImageData),
		/** While Pi works: before its next request, or when it would otherwise stop. */
		when: v.picklist(['steer', 'followUp']),
	}),
	v.strictObject({ type: v.literal('bash'), command: Text }),
	v.strictObject({ type: v.literal('abort') }),
	v.strictObject({
		type: v.literal('abort_bash'),
		toolCallId: v.pipe(v.string(), v.regex(/^\S{1,256}$/)),
	}),
	v.strictObject({ type: v.literal('abort_retry') }),
	v.strictObject({ type: v.literal('retry_now') }),
	v.strictObject({ type: v.literal('retry') }),
	v.strictObject({ type: v.literal('set_auto_retry'), enabled: v.boolean() }),
	v.strictObject({ type: v.literal('clear_queue') }),
	v.strictObject({ type: v.literal('take_returned'), ids: v.array(Id) }),
	v.strictObject({
		type: v.literal('answer'),
		dialogId: Id,
		answer: v.union([
			v.strictObject({ value: Text }),
			v.strictObject({ confirmed: v.boolean() }),
			v.strictObject({ cancelled: v.literal(true) }),
		]),
	}),
	v.strictObject({ type: v.literal('restart') }),
]);
export type Command = v.InferOutput<typeof Command>;

/** From a browser. */
export const ClientMessage = v.variant('type', [
	/** Opens a session, or a new one, and watches it. */
	v.strictObject({
		type: v.literal('hello'),
		session: v.union([v.literal('new'), SessionId]),
		/** What the browser saw last of it, if anything. */
		seen: v.optional(
			v.strictObject({
				epoch: v.string(),
				after: Count,
				/** The number of the oldest message it holds: a snapshot is to reach back as far. */
				from: v.optional(Count),
			}),
		),
	}),
	/** `id` is made by the browser; the same id is never run twice. */
	v.strictObject({ type: v.literal('command'), id: Id, session: SessionId, command: Command }),
	/** Asks for the messages before number `before`, which a snapshot had left out. */
	v.strictObject({ type: v.literal('earlier'), session: SessionId, before: Count }),
	/** Asks what the proxy's monotonic clock says. */
	v.strictObject({ type: v.literal('clock') }),
	/** Asks for the list of sessions. */
	v.strictObject({ type: v.literal('list') }),
]);
export type ClientMessage = v.InferOutput<typeof ClientMessage>;

/** An event with its number in the session, and its moment on the proxy's monotonic clock, in ms. */
export interface NumberedEvent {
	seq: number;
	at: number;
	event: SessionEvent;
}

/** From the proxy. */
export type ServerMessage =
	/**
	 * A snapshot, without the oldest messages of a long conversation; the events after `seq` follow.
	 * `now` is the proxy's monotonic clock, in ms.
	 */
	| {
			type: 'welcome';
			session: string;
			epoch: string;
			seq: number;
			now: number;
			conversation: Conversation;
	  }
	/** The events that a browser missed; the next ones follow. */
	| {
			type: 'resumed';
			session: string;
			epoch: string;
			seq: number;
			now: number;
			events: NumberedEvent[];
	  }
	| { type: 'events'; session: string; events: NumberedEvent[] }
	/** More text of the block that the last event with text belongs to: event `seq`, in short. */
	| { type: 'text'; seq: number; at: number; text: string }
	/** The messages just before number `before`, as they are after event `seq`. */
	| {
			type: 'earlier';
			session: string;
			epoch: string;
			seq: number;
			before: number;
			messages: Message[];
	  }
	| { type: 'reply'; id: string; ok: true; result: CommandResult }
	| { type: 'reply'; id: string; ok: false; error: string }
	| { type: 'clock'; now: number }
	| { type: 'sessions'; sessions: SessionSummary[] }
	/** A `hello` could not be met. */
	| { type: 'refused'; session: string; error: string }
	/** A frame that is not of this protocol. */
	| { type: 'bad_frame'; error: string };

export interface CommandResult {
	/**
	 * For a prompt: whether it began a run, waits in Pi's queue, or is done already; `known` when it
	 * was delivered before, or an earlier proxy took it.
	 */
	disposition?: 'started' | 'queued' | 'handled' | 'known';
	/** For what took queued messages back: theirs, to be put into the editor that asked. */
	returned?: ReturnedMessage[];
}

export interface SessionSummary {
	id: string;
	title: string;
	/** How long ago it last changed, in ms. */
	ageMs: number;
	/** What it is doing, when it is live. */
	activity: Activity['kind'] | null;
}

/**
 * Parses a frame from a browser.
 * @throws {Error} that names the field at fault
 */
export function parseClientMessage(data: string): ClientMessage {
	let value: unknown;
	try {
		value = JSON.parse(data);
	} catch {
		throw new Error('The frame is not JSON.');
	}
	const result = v.safeParse(ClientMessage, value);
	if (result.success) return result.output;
	const [issue] = result.issues;
	throw new Error(`${v.getDotPath(issue) ?? 'The frame'}: ${issue.message}`);
}
