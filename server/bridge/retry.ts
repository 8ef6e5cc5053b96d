import type { AgentEvent } from './events.ts';

type Phase =
	| { kind: 'none' }
	| {
			kind: 'waiting';
			attempt: number;
			maxAttempts: number;
			/** What the person asked for while it waits, until Pi says that it is so. */
			asked?: 'cancel' | 'skip';
	  }
	| { kind: 'attempting'; attempt: number; maxAttempts: number }
	/** Pi waits, but must not: its wait is being cancelled, and nobody was told of it. */
	| { kind: 'refused'; attempt: number; reason: 'off' | 'exhausted' };

/**
 * One sequence of retries, from what Pi says to what the contract promises. Where they differ
 * (numbers of `PI-FACTS.md`): with auto-retry off Pi says nothing (2), or waits although this
 * agent's own switch is off (4); its `success: true` may follow an abort (5); and after "Retry
 * now" it counts from 1 again (8), which would grant more attempts than were announced.
 */
export class RetrySequence {
	/** This agent's own switch, whatever Pi's settings say. */
	enabled = true;

	#phase: Phase = { kind: 'none' };
	/** Attempts made before the last skipped wait, which Pi no longer counts. */
	#made = 0;
	/** The person has asked to stop the run, whatever Pi is doing when it hears of it. */
	#stopping = false;
	/** Why the last request failed, until the end of its sequence has been told. */
	#failure: { errorMessage: string; retryable: boolean } | undefined;
	#emit: (event: AgentEvent) => void;
	#cancelWait: () => void;
	#stop: () => void;

	/** `cancelWait` ends Pi's wait and takes back what is queued; `stop` ends Pi's run. */
	constructor(emit: (event: AgentEvent) => void, cancelWait: () => void, stop: () => void) {
		this.#emit = emit;
		this.#cancelWait = cancelWait;
		this.#stop = stop;
	}

	/**
	 * Remembers what the person wants of the wait. False when nothing waits, or it is ending already:
	 * of two clicks the first counts, since Pi has been told of it.
	 */
	ask(what: 'cancel' | 'skip'): boolean {
		if (this.#phase.kind !== 'waiting' || this.#phase.asked) return false;
		this.#phase.asked = what;
		return true;
	}

	/** The run is being stopped. */
	stopping() {
		this.#stopping = true;
	}

	/** A model request ended with an error. */
	failed(errorMessage: string, retryable: boolean) {
		this.#failure = { errorMessage, retryable };
	}

	/** A model request ended with an answer, or by an abort. */
	answered(aborted: boolean) {
		this.#failure = undefined;
		const phase = this.#phase;
		if (phase.kind === 'attempting') {
			const { attempt } = phase;
			if (aborted) this.#end({ success: false, attempt, finalError: 'Stopped', reason: 'stopped' });
			else this.#end({ success: true, attempt });
		}
		// Pi's wait was over before it heard of the cancelling, and the answer faster than the stop.
		else if (phase.kind === 'refused' && !aborted) {
			this.#end({ success: true, attempt: phase.attempt + 1 });
		}
	}

	/** Pi's `auto_retry_start`. */
	waits(record: { attempt: number; maxAttempts: number; delayMs: number; errorMessage: string }) {
		const attempt = this.#made + record.attempt;
		const { maxAttempts, delayMs, errorMessage } = record;

		if (!this.enabled || attempt > maxAttempts) {
			const reason = this.enabled ? 'exhausted' : 'off';
			this.#phase = { kind: 'refused', attempt: attempt - 1, reason };
			return this.#cancelWait();
		}
		this.#phase = { kind: 'waiting', attempt, maxAttempts };
		this.#emit({ type: 'auto_retry_start', attempt, maxAttempts, delayMs, errorMessage });
	}

	/** Pi's `auto_retry_end`. Its success is told by {@link answered}, which knows better. */
	ended(record: { success: boolean }) {
		if (record.success) return;
		const phase = this.#phase;
		switch (phase.kind) {
			// Told by `runEnded` already: after the last attempt Pi ends the run first.
			case 'none':
			case 'attempting':
				return;
			case 'refused':
				return this.#fail(phase.attempt, phase.reason);
			case 'waiting': {
				const { attempt } = phase;
				if (phase.asked === 'skip' && !this.#stopping) {
					this.#made = attempt;
					return this.#attempt(phase);
				}
				const reason = this.#stopping ? 'stopped' : 'cancelled';
				return this.#end({ success: false, attempt, finalError: 'Retry cancelled', reason });
			}
		}
	}

	/** Pi's `agent_start`: a request goes out. */
	requests() {
		const phase = this.#phase;
		if (phase.kind === 'refused') return this.#stop();
		if (phase.kind !== 'waiting') return;
		// The wait was over before Pi heard of the cancelling.
		if (phase.asked === 'cancel') this.#stop();
		this.#attempt(phase);
	}

	/** Pi's `agent_end`. `offInPi` is whether Pi's own settings switch retries off. */
	runEnded(willRetry: boolean, offInPi: boolean) {
		if (willRetry || !this.#failure) return;
		const phase = this.#phase;
		if (phase.kind === 'attempting') this.#fail(phase.attempt, 'exhausted');
		else if (phase.kind === 'none' && this.#failure.retryable) {
			this.#fail(0, offInPi || !this.enabled ? 'off' : 'exhausted');
		}
	}

	/** Pi's `agent_settled`: whatever the sequence was, it is over. */
	settled() {
		const phase = this.#phase;
		if (phase.kind === 'refused') this.#fail(phase.attempt, phase.reason);
		else if (phase.kind !== 'none') this.#fail(phase.attempt, 'stopped');
		this.#failure = undefined;
		this.#stopping = false;
	}

	#attempt({ attempt, maxAttempts }: { attempt: number; maxAttempts: number }) {
		this.#phase = { kind: 'attempting', attempt, maxAttempts };
		this.#emit({ type: 'auto_retry_attempt_start', attempt, maxAttempts });
	}

	#fail(attempt: number, why: 'off' | 'exhausted' | 'stopped') {
		const finalError = this.#failure?.errorMessage ?? 'Stopped';
		const reason = this.#stopping ? 'stopped' : why;
		this.#end({ success: false, attempt, finalError, reason });
	}

	#end(end: Omit<Extract<AgentEvent, { type: 'auto_retry_end' }>, 'type'>) {
		this.#phase = { kind: 'none' };
		this.#made = 0;
		this.#failure = undefined;
		this.#emit({ type: 'auto_retry_end', ...end });
	}
}
