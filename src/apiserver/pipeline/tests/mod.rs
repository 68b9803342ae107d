mod custom_kinds;
mod policies;
mod webhooks;
