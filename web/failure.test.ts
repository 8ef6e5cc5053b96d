import { expect, test } from 'vitest';
import { failureKind } from './failure.ts';

test.each([
	[
		'429: {"type":"rate_limit_error","message":"Number of request tokens has exceeded"}',
		'rate limit',
	],
	['429 Too Many Requests', 'rate limit'],
	['429: {"code":"insufficient_quota","message":"You exceeded your current quota"}', 'quota'],
	['Monthly usage limit reached', 'quota'],
	['529: {"type":"overloaded_error","message":"Overloaded"}', 'overloaded'],
	['503: The service is temporarily unavailable', 'overloaded'],
	['401: {"type":"authentication_error","message":"invalid x-api-key"}', 'sign-in'],
	['No API key found for anthropic', 'sign-in'],
	['terminated', 'network'],
	['connect ECONNREFUSED 127.0.0.1:9', 'network'],
	['Request timed out.', 'network'],
	['Stream ended without finish_reason', 'network'],
	['500: Internal Server Error', 'other'],
	['prompt is too long: 250000 tokens', 'other'],
	['something nobody has seen', 'other'],
])('%s is a failure of the kind "%s"', (errorMessage, kind) => {
	expect(failureKind(errorMessage).kind).toBe(kind);
});

test('trying again is advised for what passes by itself, not for what needs a person', () => {
	expect(failureKind('429 Too Many Requests').retryHelps).toBe(true);
	expect(failureKind('terminated').retryHelps).toBe(true);
	expect(failureKind('insufficient_quota').retryHelps).toBe(false);
	expect(failureKind('401 Unauthorized').retryHelps).toBe(false);
});
