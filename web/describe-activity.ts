import type { Activity } from '../server/conversation.ts';
import { duration } from './duration.ts';
import { failureKind } from './failure.ts';

/** What is going on, in a sentence that is spoken when it changes. */
export function describeActivity(activity: Activity): string {
	switch (activity.kind) {
		case 'starting':
			return 'Pi is starting.';
		case 'idle':
			return 'Pi is ready.';
		case 'working':
			return 'Pi is working.';
		case 'tools':
			return 'Pi is running a tool.';
		case 'waiting': {
			const { title } = failureKind(activity.errorMessage);
			const { attempt, maxAttempts, delayMs } = activity;
			return `${title}: retry ${attempt} of ${maxAttempts} in ${duration(delayMs)}.`;
		}
		case 'retrying':
			return `Retry ${activity.attempt} of ${activity.maxAttempts} is under way.`;
		case 'failed':
			return activity.failure.reason === 'cancelled'
				? 'The retry was cancelled.'
				: `Failed, ${failureKind(activity.failure.errorMessage).cause}: it waits for your decision.`;
		case 'compacting':
			return 'Pi is making room in the conversation.';
		case 'stopped':
			return 'Stopped.';
		case 'gone':
			return 'Pi has ended.';
	}
}
