/**
 * What an agent says, as a closed union. The names and shapes of the first two groups are those
 * of the contract ("Reliability & error recovery"); the rest follows Pi's `docs/json.md`, with
 * Pi's repetitions taken out. All durations are milliseconds.
 */
export type AgentEvent =
	// The conversation.
	| {
			type: 'user_message';
			messageId: string;
			text: string;
			images: Image[];
			promptId?: string;
			/** When Pi took it, in Unix milliseconds on Pi's clock. */
			timestamp?: number;
	  }
	/** A model request began to answer. Its text and thinking carry this `messageId`. */
	| { type: 'message_start'; messageId: string }
	/** Text to be added to block `block` of the message. */
	| { type: 'text'; messageId: string; block: number; text: string }
	| { type: 'thinking'; messageId: string; block: number; text: string }
	/** The answer is complete. `text` is all of it, whatever was streamed before. */
	| { type: 'message_end'; messageId: string; text: string; stopReason: StopReason; model: string }
	/**
	 * The model request failed. Text streamed under this `messageId` belongs to the failed attempt
	 * and must not be joined to the next attempt's. `retryable` is Pi's own judgement.
	 */
	| { type: 'attempt_failed'; messageId: string; errorMessage: string; retryable: boolean }
	/** The model has begun to ask for a tool; its arguments are still on their way. */
	| { type: 'tool_call'; toolCallId: string; toolName: string }
	| ToolStart
	/** Output of a running tool: to be appended, or to replace all so far. */
	| { type: 'tool_update'; toolCallId: string; mode: 'append' | 'replace'; text: string }
	| ToolEnd

	// Retries.
	/** A failed request will be sent again after `delayMs`. `attempt` counts retries, from 1. */
	| {
			type: 'auto_retry_start';
			attempt: number;
			maxAttempts: number;
			delayMs: number;
			errorMessage: string;
	  }
	/** The wait is over, by itself or by `retryNow()`: the request is being sent again. */
	| { type: 'auto_retry_attempt_start'; attempt: number; maxAttempts: number }
	/**
	 * The sequence of retries is over. `success` is true only when an answer came. `attempt` is
	 * how many retries were made: 0 when the first failure was final because auto-retry is off.
	 * `reason` is there when `success` is false.
	 */
	| {
			type: 'auto_retry_end';
			success: boolean;
			attempt: number;
			finalError?: string;
			reason?: 'exhausted' | 'cancelled' | 'off' | 'stopped';
	  }
	| { type: 'auto_retry_changed'; enabled: boolean }

	// The queue.
	| { type: 'queue_update'; steering: string[]; followUp: string[] }
	/** Messages that were queued and will not be sent: they belong to the person again. */
	| { type: 'queue_returned'; messages: ReturnedMessage[] }

	// The run.
	| { type: 'run_start' }
	/** Pi will not go on by itself: the end of a prompt, after all retries and queued messages. */
	| { type: 'agent_settled'; aborted: boolean }
	| { type: 'compaction_start'; reason: CompactionReason }
	| {
			type: 'compaction_end';
			reason: CompactionReason;
			outcome: 'done' | 'aborted' | 'failed';
			summary?: string;
			errorMessage?: string;
	  }
	| {
			type: 'summarization_retry_scheduled';
			attempt: number;
			maxAttempts: number;
			delayMs: number;
			errorMessage: string;
	  }
	| { type: 'summarization_retry_attempt_start' }
	| { type: 'summarization_retry_finished' }

	// The session and its extensions.
	| { type: 'session_changed'; session: SessionInfo }
	| { type: 'stats'; contextPercent: number | null; cost: number }
	| { type: 'dialog_open'; dialog: Dialog }
	/** It was answered, cancelled with the run, or its time is over. */
	| { type: 'dialog_closed'; dialogId: string }
	| { type: 'notice'; level: 'info' | 'warning' | 'error'; text: string }
	| { type: 'status'; key: string; text: string | undefined }
	| { type: 'editor_text'; text: string }
	/** The Pi process has ended; nothing follows. `description` is for people. */
	| { type: 'exit'; description: string }
	/** A record this version does not know, as Pi sent it. */
	| { type: 'pi_record'; record: object };

export interface ToolStart {
	type: 'tool_start';
	toolCallId: string;
	toolName: string;
	args: Record<string, unknown>;
	/** Whose command it is: the model's, or the person's (`!command`). */
	by: 'agent' | 'user';
	/** The `codemode` call that made this one. */
	parentToolCallId?: string;
}

export interface ToolEnd {
	type: 'tool_end';
	toolCallId: string;
	toolName: string;
	/** All of the tool's output, as the model sees it, without Pi's closing line about the outcome. */
	text: string;
	images: Image[];
	isError: boolean;
	/** What became of it; `stopped` when the person or the end of the run stopped it. */
	outcome: 'done' | 'failed' | 'stopped' | 'timed_out';
	exitCode?: number;
	/** Unified diff of an edit, from Pi. */
	patch?: string;
	durationMs?: number;
}

/** Base64 data and its media type. */
export interface Image {
	data: string;
	mimeType: string;
}

export interface ReturnedMessage {
	/** The `promptId` it was submitted with, or one made for it. */
	id: string;
	text: string;
	images?: Image[];
}

export interface SessionInfo {
	id: string;
	file?: string;
	name?: string;
	cwd: string;
	model?: { provider: string; id: string; name: string };
	thinkingLevel: string;
	/** False when another extension brings its own bash tool, which cannot be stopped singly. */
	stopsCommands: boolean;
}

/** A question from a Pi extension, which blocks Pi until it is answered. */
export interface Dialog {
	id: string;
	method: 'select' | 'confirm' | 'input' | 'editor';
	title: string;
	message?: string;
	options?: string[];
	placeholder?: string;
	prefill?: string;
	/** After so long Pi answers it itself; `dialog_closed` tells of that too. */
	timeoutMs?: number;
}

/** The answer to a {@link Dialog}: a text, yes or no, or neither. */
export type DialogAnswer = { value: string } | { confirmed: boolean } | { cancelled: true };

export type StopReason = 'stop' | 'length' | 'toolUse' | 'aborted' | 'deferred' | 'pending';
export type CompactionReason = 'manual' | 'threshold' | 'overflow';
